package znode

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// sequences are numbers at all the places where their form changes, and others.
func sequences() []int32 {
	all := []int32{0, 1, 9, 10, 999_999_999, 1_000_000_000, math.MaxInt32 - 1, math.MaxInt32,
		-1, -9, -10, -99_999_999, -100_000_000, -999_999_999, -1_000_000_000, math.MinInt32 + 1, math.MinInt32}
	rnd := rand.New(rand.NewPCG(16, 1))
	for range 1000 {
		all = append(all, int32(rnd.Uint32()), int32(rnd.Uint32())>>(rnd.IntN(31)))
	}
	return all
}

// A sequence is what ZooKeeper writes, after every marker, and nothing else is
// one: no digit more or less.
func TestSequenceIsWhatZooKeeperWrites(t *testing.T) {
	heads := []string{"lock-", "__lock__", "__WRIT__", "__READ__", "__rlock__", "permit-1of2-", "_c_" + dashed + "-lock-"}
	for _, v := range sequences() {
		seq := fmt.Sprintf("%010d", v)
		for _, head := range heads {
			if n, ok := Parse(head + seq); !ok || n.Seq != int64(v) {
				t.Errorf("Parse(%q) = %+v, %v", head+seq, n, ok)
			}
			digits := strings.TrimPrefix(seq, "-")
			sign := strings.TrimSuffix(seq, digits)
			for _, other := range []string{sign + "0" + digits, sign + digits[1:], sign + digits + "0", seq + seq, "0" + seq, "+" + seq} {
				n, ok := Parse(head + other)
				if ok && fmt.Sprintf("%010d", n.Seq) != other {
					t.Errorf("Parse(%q) = %+v", head+other, n)
				}
			}
		}
	}
}

// FuzzSequence: a tail is a sequence exactly if printing its number gives it back.
func FuzzSequence(f *testing.F) {
	for _, s := range []string{"0000000001", "00000000001", "-000000001", "-2147483648", "2147483648", "-0000000001", "00000000000000000000001", "-000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		number, err := strconv.ParseInt(s, 10, 32)
		want := err == nil && fmt.Sprintf("%010d", number) == s
		if v, ok := parseSeq(s); ok != want || ok && v != number {
			t.Fatalf("%q: %d, %v", s, v, ok)
		}
	})
}

func TestForeignNames(t *testing.T) {
	others := []Foreign{{"", Exclusive}, {"seq-", Exclusive}, {"read-", Read}, {"write-", Write}, {"LockA ", Exclusive}, {"se", Read}}
	for child, want := range map[string]Name{
		"0000000001":       {Kind: Exclusive, Seq: 1},
		"seq-0000000007":   {Kind: Exclusive, Seq: 7},
		"read-0000000003":  {Kind: Read, Seq: 3},
		"write-0000000003": {Kind: Write, Seq: 3},
		"LockA 0000000001": {Kind: Exclusive, Seq: 1},
		"seq--2147483648":  {Kind: Exclusive, Seq: math.MinInt32},
		"-000000001":       {Kind: Exclusive, Seq: -1},
	} {
		want.Raw, want.Form = child, FormForeign
		if got, ok := ParseAny(child, others); !ok || got != want {
			t.Errorf("%q: %+v, %v; want %+v", child, got, ok, want)
		}
		if n, ok := ParseAny(child, nil); ok {
			t.Errorf("%q without being told of it: %+v", child, n)
		}
	}
	for _, child := range []string{"", "seq-", "seq-1", "seq-00000000001", "seq-0000000001x", "xseq-0000000001", "Seq-0000000001", "00000000001", "config", "seq-x0000000001"} {
		if n, ok := ParseAny(child, others); ok {
			t.Errorf("%q: %+v", child, n)
		}
	}
	// What every lock heeds is read as it always is.
	for _, child := range []string{"lock-0000000001", "_c_" + ownDashed + "-__READ__0000000001"} {
		want, _ := Parse(child)
		if got, ok := ParseAny(child, append(others, Foreign{"lock-", Read})); !ok || got != want {
			t.Errorf("%q: %+v, %v", child, got, ok)
		}
	}
	// Nobody's GUID stands in a name that was made by hand.
	own := "_c_" + NewGUID().String() + "-turn-"
	if n, ok := ParseAny(own+"0000000001", []Foreign{{own, Exclusive}}); !ok || n.HasGUID || n.GUID != (GUID{}) {
		t.Errorf("%+v, %v", n, ok)
	}
	if n := testing.AllocsPerRun(100, func() { ParseAny("write-0000000003", others); Numbered("write-0000000003") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestForeignCheck(t *testing.T) {
	for _, f := range []Foreign{{"", Exclusive}, {"seq-", Write}, {"LockA ", Read}, {"lock", Exclusive}, {"größe-", Read}, {strings.Repeat("x", 255), Read}} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []Foreign{
		{"lock-", Exclusive}, {"my-lock-", Exclusive}, {"__READ__", Read}, {"__WRIT__", Write}, {"x__lock__", Exclusive}, {"permit-1of2-", Exclusive},
		{"a/b", Exclusive}, {"/", Exclusive}, {"x\x00", Read}, {"x\n", Read}, {"\xff", Read}, {"\ue000", Write}, {strings.Repeat("x", 256), Read},
		{"seq-", Permit}, {"seq-", 0}, {"seq-", 99},
	} {
		if f.Check() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

func TestNumbered(t *testing.T) {
	for name, want := range map[string]bool{
		"seq-0000000001": true, "0000000001": true, "x-000000001": true, "x-2147483648": true, "x2147483647": true,
		"lock-00000000000000000000001": true, // a number of some kind, and no lock node
		"":                             false, "config": false, "x-1": false, "000000001": false, "x0000000001y": false, "x2147483648": false, "9999999999": false,
	} {
		if got := Numbered(name); got != want {
			t.Errorf("Numbered(%q) = %v", name, got)
		}
	}
}

// A foreign node with the number of ours is a tie: no step of its recipe takes
// two nodes with one number.
func TestForeignTie(t *testing.T) {
	others := []Foreign{{"read-", Read}, {"write-", Write}, {"seq-", Exclusive}}
	parse := func(s string) Name {
		n, ok := ParseAny(s, others)
		if !ok {
			t.Fatal(s)
		}
		return n
	}
	for _, tc := range []struct{ mine, theirs string }{
		{"__WRIT__0000000005", "read-0000000005"}, {"__READ__0000000005", "write-0000000005"}, {"lock-0000000005", "seq-0000000005"},
	} {
		line := []Name{parse(tc.mine), parse(tc.theirs)}
		if !Exhausted(line, 0) {
			t.Errorf("%q is sure of its place beside %q", tc.mine, tc.theirs)
		}
		line[1] = parse(strings.Replace(tc.theirs, "5", "4", 1))
		Sort(line)
		if Exhausted(line, 1) || line[0].Form != FormForeign {
			t.Errorf("%+v", line)
		}
	}
}
