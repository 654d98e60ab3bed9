package znode

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

const (
	dashed    = "0f8fad5b-d9cb-469f-a165-70867728950e" // version 4, as Curator makes them
	hexed     = "0f8fad5bd9cb469fa16570867728950e"
	ownDashed = "0f8fad5b-d9cb-869f-a165-70867728950e" // version 8
	ownHexed  = "0f8fad5bd9cb869fa16570867728950e"
)

func guid(t testing.TB, s string) GUID {
	t.Helper()
	g, ok := ParseGUID(s)
	if !ok {
		t.Fatalf("%q is no GUID", s)
	}
	return g
}

func TestParse(t *testing.T) {
	theirs, own := guid(t, dashed), guid(t, ownDashed)
	for _, want := range []Name{
		// Each system's own names.
		{Raw: "_c_" + ownDashed + "-lock-0000000007", Kind: Exclusive, Form: FormOwn, HasGUID: true, GUID: own, Seq: 7},
		{Raw: "_c_" + ownDashed + "-__WRIT__0000000007", Kind: Write, Form: FormOwn, HasGUID: true, GUID: own, Seq: 7},
		{Raw: "_c_" + ownDashed + "-__READ__0000000007", Kind: Read, Form: FormOwn, HasGUID: true, GUID: own, Seq: 7},
		{Raw: "_c_" + ownDashed + "-permit-2of5-0000000007", Kind: Permit, Form: FormOwn, HasGUID: true, GUID: own, Seq: 7, Weight: 2, Limit: 5},
		{Raw: ownHexed + "__lock__0000000007", Kind: Exclusive, Form: FormOwn, HasGUID: true, GUID: own, Seq: 7},
		{Raw: "_c_" + dashed + "-lock-0000000007", Kind: Exclusive, Form: FormCurator, HasGUID: true, GUID: theirs, Seq: 7},
		{Raw: "_c_" + dashed + "-__WRIT__0000000007", Kind: Write, Form: FormCurator, HasGUID: true, GUID: theirs, Seq: 7},
		{Raw: "_c_" + dashed + "-__READ__0000000007", Kind: Read, Form: FormCurator, HasGUID: true, GUID: theirs, Seq: 7},
		{Raw: "_c_" + hexed + "-lock-0000000007", Kind: Exclusive, Form: FormZKLock, HasGUID: true, GUID: theirs, Seq: 7},
		{Raw: "_c_" + ownHexed + "-lock-0000000007", Kind: Exclusive, Form: FormZKLock, HasGUID: true, GUID: own, Seq: 7},
		{Raw: hexed + "__lock__0000000007", Kind: Exclusive, Form: FormKazoo, HasGUID: true, GUID: theirs, Seq: 7},
		{Raw: hexed + "__rlock__0000000007", Kind: Read, Form: FormKazoo, HasGUID: true, GUID: theirs, Seq: 7},
		// Without a GUID, or with one in the wrong place.
		{Raw: "lock-0000000000", Kind: Exclusive, Seq: 0},
		{Raw: "xlock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "__WRIT__0000000001", Kind: Write, Seq: 1},
		{Raw: "permit-1of1-0000000001", Kind: Permit, Seq: 1, Weight: 1, Limit: 1},
		{Raw: "_c_-lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "_c_" + dashed + "lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "_c_" + dashed[:35] + "-lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "x" + hexed + "__lock__0000000001", Kind: Exclusive, Seq: 1},
		{Raw: hexed + "lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "_c_" + strings.Repeat("z", 36) + "-lock-0000000001", Kind: Exclusive, Seq: 1},
		// A word between the GUID and the marker, as other base names give.
		{Raw: "_c_" + hexed + "-foo-lock-0000000001", Kind: Exclusive, Form: FormZKLock, HasGUID: true, GUID: theirs, Seq: 1},
		{Raw: "_c_" + dashed + "-foo-lock-0000000001", Kind: Exclusive, Form: FormCurator, HasGUID: true, GUID: theirs, Seq: 1},
		// The last marker decides.
		{Raw: "lock-0000000009__WRIT__0000000001", Kind: Write, Seq: 1},
		{Raw: "__WRIT__0000000009__READ__0000000001", Kind: Read, Seq: 1},
		{Raw: "__READ__0000000009lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "_c_" + dashed + "-lock-__lock__0000000001", Kind: Exclusive, Form: FormCurator, HasGUID: true, GUID: theirs, Seq: 1},
		{Raw: "permit-1of2-lock-0000000001", Kind: Exclusive, Seq: 1},
		{Raw: "lock-permit-1of2-0000000001", Kind: Permit, Weight: 1, Limit: 2, Seq: 1},
		// The ends of the counter.
		{Raw: "lock-2147483647", Kind: Exclusive, Seq: math.MaxInt32},
		{Raw: "lock--2147483648", Kind: Exclusive, Seq: math.MinInt32},
		{Raw: "lock--000000001", Kind: Exclusive, Seq: -1},
		{Raw: "lock--999999999", Kind: Exclusive, Seq: -999999999},
		{Raw: "lock--1000000000", Kind: Exclusive, Seq: -1000000000},
		{Raw: "permit-1of2--2147483648", Kind: Permit, Seq: math.MinInt32, Weight: 1, Limit: 2},
		{Raw: "permit-9223372036854775807of9223372036854775807-0000000001", Kind: Permit, Weight: math.MaxInt64, Limit: math.MaxInt64, Seq: 1},
	} {
		if got, ok := Parse(want.Raw); !ok || got != want {
			t.Errorf("Parse(%q)\n got %+v, %v\nwant %+v", want.Raw, got, ok, want)
		}
	}
}

func TestParseIgnores(t *testing.T) {
	for _, s := range []string{
		"", "config", "0", "lock", "lock-", "lock-abc", "lock--", "x-123", "x-0000000123", "_c_x", "_c_", "leases", "locks",
		"_c_" + dashed + "-lease-0000000001", "__lock__", "__WRIT__", "__READ__", "__rlock__", "__WRITE__0000000001",
		"lock-1", "lock-000000001", "lock-000000000x", "lock-0000000001x", "lock-0000000001 ", "lock- 0000000001",
		"lock-+000000001", "lock-0x00000001", "lock-00000_0001", "lock-٠٠٠٠٠٠٠٠٠١", "lock0000000001", "lock_0000000001",
		"LOCK-0000000001", "lock-0000000001\x00", "\xff\xfe",
		"lock-2147483648", "lock--2147483649", "lock-9999999999", "lock-99999999999999999999999999",
		"lock-00000000001", "lock-000000000001", "lock-00000000000000000000001", "lock-02147483647",
		"lock--0000000001", "lock--00000000001", "lock--0999999999", "lock--000000000", "lock--2147483648000",
		"__WRIT__00000000001", "__READ__00000000001", "__lock__00000000001", "__rlock__00000000001", "permit-1of2-00000000001",
		"lock--1", "lock--00000001", "lock--0000000000", "lock---000000001", "lock--000000000-1",
		"lock-0000000001lock-", "lock-0000000001__READ__", "lock-0000000001permit-",
		"permit-0000000001", "permit-1-0000000001", "permit-1of-0000000001", "permit-of1-0000000001", "permit-1of1",
		"permit-1of1-", "permit-1of10000000001", "permit-0of1-0000000001", "permit-0of0-0000000001", "permit-2of1-0000000001",
		"permit--1of1-0000000001", "permit-01of1-0000000001", "permit-1of+1-0000000001",
		"permit-1of9223372036854775808-0000000001", "permit-1of1of1-0000000001",
	} {
		if n, ok := Parse(s); ok || n != (Name{}) {
			t.Errorf("Parse(%q) = %+v, %v", s, n, ok)
		}
	}
}

func TestShortForeignNames(t *testing.T) {
	whole := []string{
		"_c_" + dashed + "-lock-0000000007", "_c_" + hexed + "-lock-0000000007", hexed + "__rlock__0000000007",
		"_c_" + ownDashed + "-permit-2of5-0000000007",
	}
	for _, s := range whole {
		for i := range len(s) + 1 {
			for j := i; j <= len(s); j++ {
				if n, ok := Parse(s[i:j]); ok && n.Raw != s[i:j] {
					t.Errorf("Parse(%q) = %+v", s[i:j], n)
				}
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	g := guid(t, ownDashed)
	for prefix, want := range map[string]Name{
		Prefix(Exclusive, g):   {Raw: "_c_" + ownDashed + "-lock-", Kind: Exclusive},
		Prefix(Write, g):       {Raw: "_c_" + ownDashed + "-__WRIT__", Kind: Write},
		Prefix(Read, g):        {Raw: "_c_" + ownDashed + "-__READ__", Kind: Read},
		PermitPrefix(g, 3, 10): {Raw: "_c_" + ownDashed + "-permit-3of10-", Kind: Permit, Weight: 3, Limit: 10},
		KazooPrefix(g):         {Raw: ownHexed + "__lock__", Kind: Exclusive},
	} {
		if prefix != want.Raw {
			t.Errorf("prefix %q, want %q", prefix, want.Raw)
		}
		for _, seq := range []int32{0, 1, 1234567890, math.MaxInt32, math.MinInt32, -1} {
			want.Raw, want.Seq = prefix+fmt.Sprintf("%010d", seq), int64(seq)
			want.Form, want.HasGUID, want.GUID = FormOwn, true, g
			if got, ok := Parse(want.Raw); !ok || got != want {
				t.Errorf("Parse(%q)\n got %+v, %v\nwant %+v", want.Raw, got, ok, want)
			}
		}
	}
	for _, kind := range []Kind{0, Permit, 200} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "zksync: ") {
					t.Errorf("Prefix(%v) panics with %q", kind, s)
				}
			}()
			Prefix(kind, g)
		}()
	}
}

func TestStrings(t *testing.T) {
	for v, want := range map[fmt.Stringer]string{
		Exclusive: "exclusive", Write: "write", Read: "read", Permit: "permit", Kind(0): "kind(0)",
		FormOther: "other", FormOwn: "zksync", FormCurator: "curator", FormZKLock: "zk.Lock", FormKazoo: "kazoo", FormForeign: "foreign", Form(9): "form(9)",
	} {
		if v.String() != want {
			t.Errorf("%#v: %q, want %q", v, v.String(), want)
		}
	}
}

func TestParseAllocates(t *testing.T) {
	names := []string{"_c_" + dashed + "-lock-0000000007", "config", hexed + "__lock__0000000007", "_c_" + dashed + "-permit-1of2-0000000001"}
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range names {
			Parse(s)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"lock-__WRIT__lock-0000000007", "__lock__lock-0000000007", "__READ__0000000007",
		"_c_" + dashed + "-lock-0000000007", "_c_" + hexed + "-lock--2147483648", hexed + "__rlock__0000000007",
		"_c_" + ownDashed + "-permit-2of5-0000000007", "_c_x", "lock-", "__WRIT__0000000001", "config",
		"lock-00000000001", "lock--1234567890", "lock--000000001", "lock--0999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if head, m := quickMarker(s); m.kind != 0 {
			if h, last := lastMarker(s); h != head || last != m {
				t.Fatalf("%q: the last marker is %q behind %q, not %q behind %q", s, last.text, h, m.text, head)
			}
		}
		n, ok := Parse(s)
		if !ok {
			if n != (Name{}) {
				t.Fatalf("%+v without ok", n)
			}
			return
		}
		if n.Raw != s || n.Seq < math.MinInt32 || n.Seq > math.MaxInt32 || n.Kind < Exclusive || n.Kind > Permit {
			t.Fatalf("%+v", n)
		}
		if n.HasGUID != (n.Form != FormOther) || !n.HasGUID && n.GUID != (GUID{}) {
			t.Fatalf("%+v", n)
		}
		if (n.Kind == Permit) != (n.Weight > 0 && n.Limit >= n.Weight) {
			t.Fatalf("%+v", n)
		}
		if seq := fmt.Sprintf("%010d", n.Seq); !strings.HasSuffix(s, seq) {
			t.Fatalf("%q ends otherwise than ZooKeeper writes %d", s, n.Seq)
		}
		if n.Form == FormOwn && n.Kind == Permit {
			again, ok := Parse(PermitPrefix(n.GUID, n.Weight, n.Limit) + fmt.Sprintf("%010d", n.Seq))
			if !ok || again.GUID != n.GUID || again.Weight != n.Weight || again.Limit != n.Limit || again.Seq != n.Seq {
				t.Fatalf("%+v became %+v", n, again)
			}
		}
	})
}

// The names of most nodes are read by the quick way.
func TestQuickMarker(t *testing.T) {
	for kind, prefix := range map[Kind]string{
		Exclusive: Prefix(Exclusive, GUID{}), Write: Prefix(Write, GUID{}), Read: Prefix(Read, GUID{}),
	} {
		if _, m := quickMarker(prefix + "0000000007"); m.kind != kind {
			t.Errorf("%v: %+v", kind, m)
		}
		if _, m := quickMarker(prefix + "-000000007"); m.kind != 0 {
			t.Errorf("%v with a negative number: %+v", kind, m)
		}
	}
}
