package znode

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zklocker/go-zksync/zksync/internal/race"
)

const tp = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestInfoEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		info Info
		want string
	}{
		{"nothing", Info{}, `{"v":1}`},
		{"all", Info{"billing", "web-1", 4711, "o1", "order 7", tp, false},
			`{"v":1,"id":"billing","host":"web-1","pid":4711,"owner":{"id":"o1","name":"order 7"},"tp":"` + tp + `"}`},
		{"owner's id", Info{OwnerID: "o1"}, `{"v":1,"owner":{"id":"o1"}}`},
		{"owner's name", Info{OwnerName: "n"}, `{"v":1,"owner":{"name":"n"}}`},
		{"pid", Info{PID: 1}, `{"v":1,"pid":1}`},
		{"negative pid", Info{PID: -1}, `{"v":1}`},
		{"escapes", Info{Identity: `a"b\c</x>&'`}, `{"v":1,"id":"a\"b\\c</x>&'"}`},
		{"long", Info{Identity: "x" + strings.Repeat("a", 127) + "z"}, `{"v":1,"id":"` + strings.Repeat("a", 127) + `z"}`},
		{"long host", Info{Host: "x" + strings.Repeat("a", 63) + "z"}, `{"v":1,"host":"` + strings.Repeat("a", 63) + `z"}`},
		{"long name", Info{OwnerName: "x" + strings.Repeat("a", 63) + "z"}, `{"v":1,"owner":{"name":"` + strings.Repeat("a", 63) + `z"}}`},
		{"long id", Info{OwnerID: "x" + strings.Repeat("a", 31) + "z"}, `{"v":1,"owner":{"id":"` + strings.Repeat("a", 31) + `z"}}`},
		{"rune at the cut", Info{Host: "é" + strings.Repeat("a", 63)}, `{"v":1,"host":"` + strings.Repeat("a", 63) + `"}`},
		{"rune after the cut", Info{Host: "xé" + strings.Repeat("a", 62)}, `{"v":1,"host":"é` + strings.Repeat("a", 62) + `"}`},
		{"escape at the cut", Info{Host: `"` + strings.Repeat("a", 63)}, `{"v":1,"host":"` + strings.Repeat("a", 63) + `"}`},
		{"escape after the cut", Info{Host: `x"` + strings.Repeat("a", 62)}, `{"v":1,"host":"\"` + strings.Repeat("a", 62) + `"}`},
		{"control at the cut", Info{Host: "\x00" + strings.Repeat("a", 62)}, `{"v":1,"host":"` + strings.Repeat("a", 62) + `"}`},
		{"invalid", Info{Identity: "a\xffb\xc3"}, "{\"v\":1,\"id\":\"a\ufffdb\ufffd\"}"},
		{"controls", Info{Identity: "a\x1b[2J\n\x7f\u0085\u2028\u202e"}, "{\"v\":1,\"id\":\"a\ufffd[2J\ufffd\ufffd\ufffd\ufffd\ufffd\"}"},
		{"revoked", Info{Revoke: true}, `{"v":1,"revoke":true}`},
		{"all, revoked", Info{"billing", "web-1", 4711, "o1", "order 7", tp, true},
			`{"v":1,"id":"billing","host":"web-1","pid":4711,"owner":{"id":"o1","name":"order 7"},"tp":"` + tp + `","revoke":true}`},
		{"no traceparent", Info{TraceParent: tp[:54]}, `{"v":1}`},
	} {
		got := string(tt.info.Encode())
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		checkEncoded(t, tt.info)
	}
}

// checkEncoded checks what holds for every Info's encoding, and returns it as it
// is read back.
func checkEncoded(t *testing.T, info Info) Info {
	t.Helper()
	data := info.Encode()
	if len(data) > MaxInfo || !json.Valid(data) || !utf8.Valid(data) {
		t.Fatalf("%d bytes: %q", len(data), data)
	}
	got, ok := DecodeInfo(data)
	if !ok {
		t.Fatalf("%q is not read back", data)
	}
	if again := got.Encode(); string(again) != string(data) {
		t.Fatalf("%q became %q", data, again)
	}
	for _, p := range []struct {
		got, given string
		limit      int
	}{
		{got.Identity, info.Identity, 128}, {got.Host, info.Host, 64}, {got.OwnerID, info.OwnerID, 32}, {got.OwnerName, info.OwnerName, 64},
	} {
		shown := strings.Map(replace, strings.ToValidUTF8(each(p.given), "\ufffd"))
		if inJSON(t, p.got) > p.limit || !strings.HasSuffix(shown, p.got) {
			t.Fatalf("%q became %q", p.given, p.got)
		}
		// One character more would not fit.
		if cut := strings.TrimSuffix(shown, p.got); cut != "" {
			_, n := utf8.DecodeLastRuneInString(cut)
			if inJSON(t, shown[len(cut)-n:]) <= p.limit {
				t.Fatalf("%q was cut to %q without need", p.given, p.got)
			}
		}
	}
	return got
}

// inJSON is the number of bytes that a text takes between the quotes.
func inJSON(t *testing.T, text string) int {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		t.Fatal(err)
	}
	return len(strings.TrimSpace(b.String())) - 2
}

// each separates invalid bytes, of which ToValidUTF8 replaces only whole runs.
func each(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

func replace(r rune) rune {
	if unshowable(r) {
		return utf8.RuneError
	}
	return r
}

// The texts have their full lengths beside each other, whatever their characters.
func TestInfoFits(t *testing.T) {
	for _, unit := range []string{"a", `"`, `\`, "é", "€", "😀", "\xff", "\x00", "<", "a\""} {
		text := strings.Repeat(unit, 200)
		for _, revoke := range []bool{false, true} {
			got := checkEncoded(t, Info{text, text, math.MaxInt, text, text, tp, revoke})
			if got.TraceParent != tp || got.PID != math.MaxInt || got.Revoke != revoke {
				t.Errorf("%q: %+v lost what is not cut", unit, got)
			}
			for _, p := range []struct {
				text  string
				limit int
			}{{got.Identity, 128}, {got.Host, 64}, {got.OwnerID, 32}, {got.OwnerName, 64}} {
				if inJSON(t, p.text) < p.limit-3 {
					t.Errorf("%q: %q was cut without need", unit, p.text)
				}
			}
		}
	}
}

// The data grows by no more than MaxNamed when it comes to name an owner and a trace.
func TestMaxNamed(t *testing.T) {
	without := Info{Identity: "a", Host: "b", PID: 1}
	with := without
	with.OwnerID, with.OwnerName, with.TraceParent = strings.Repeat("x", 100), strings.Repeat("y", 100), tp
	asked, _ := AddRevoke(with.Encode())
	if grown := len(asked) - len(without.Encode()); grown != MaxNamed {
		t.Errorf("%d bytes more, want %d", grown, MaxNamed)
	}
}

func TestInfoAllocates(t *testing.T) {
	info := Info{"billing", "web-1", 4711, "o1", "order 7", tp, false}
	if n := testing.AllocsPerRun(100, func() { info.Encode() }); n > 2 && !race.Enabled { // its pools are emptied at random with the race detector
		t.Errorf("Encode: %v allocations", n)
	}
}

func TestDecodeInfo(t *testing.T) {
	for _, tt := range []struct {
		data string
		want Info
	}{
		{`{"v":1}`, Info{}},
		{` {"v":1,"new":[1,{}],"id":"a"} `, Info{Identity: "a"}},
		{`{"v":1,"owner":null,"id":null}`, Info{}},
		{`{"v":1,"id":"` + strings.Repeat("x", 4000) + `"}`, Info{Identity: strings.Repeat("x", 4000)}}, // of a later version
		{`{"v":1,"owner":{"id":"` + strings.Repeat("x", 1000) + `","name":"` + strings.Repeat("y", 1000) + `"}}`,
			Info{OwnerID: strings.Repeat("x", 1000), OwnerName: strings.Repeat("y", 1000)}},
		{`{"v":1,"id":"a\u001b[31mb\r\n\u202e"}`, Info{Identity: "a\ufffd[31mb\ufffd\ufffd\ufffd"}},
		{`{"v":1,"host":"\ud800"}`, Info{Host: "\ufffd"}},
		{"{\"v\":1,\"host\":\"a\xffb\"}", Info{Host: "a\ufffdb"}},
		{`{"v":1,"tp":"` + tp + `"}`, Info{TraceParent: tp}},
		{`{"v":1,"tp":"nonsense\n"}`, Info{}},
		{`{"v":1,"revoke":true}`, Info{Revoke: true}},
		{`{"v":1,"revoke":true,"id":"a"}`, Info{Identity: "a", Revoke: true}},
		{`{"v":1,"revoke":false}`, Info{}},
		{`{"v":1,"pid":2147483647}`, Info{PID: 2147483647}},
		{`{"v":1,"id":"a"` + strings.Repeat(" ", 4096-16) + "}", Info{Identity: "a"}},
	} {
		if got, ok := DecodeInfo([]byte(tt.data)); !ok || got != tt.want {
			t.Errorf("%q: %+v, %v; want %+v", tt.data, got, ok, tt.want)
		}
	}
	for _, data := range []string{
		"", " ", "127.0.0.1", "null", "1", `"v"`, "[]", "{}", "{", `{"v":1`, `{"v":1}x`, `{"v":1}{"v":1}`,
		`{"v":0}`, `{"v":2}`, `{"v":"1"}`, `{"v":1.5}`, `{"v":1e400}`, `{"v":null}`,
		`{"v":1,"id":5}`, `{"v":1,"owner":"x"}`, `{"v":1,"owner":[]}`, `{"v":1,"pid":"1"}`, `{"v":1,"pid":-1}`,
		`{"v":1,"revoke":"true"}`, `{"v":1,"revoke":1}`, `{"v":1,"pid":9223372036854775808}`, `{"v":1,"pid":1.5}`,
		`{"v":1,"id":"a"` + strings.Repeat(" ", 4096-15) + "}",
		`{"v":1,"x":` + strings.Repeat("[", 4000), "\x00", "\x1f\x8b\x08", "__REVOKE__",
		"{\"v\":1,\"id\":\"a\nb\"}",
	} {
		if got, ok := DecodeInfo([]byte(data)); ok || got != (Info{}) {
			t.Errorf("%q: %+v, %v", data, got, ok)
		}
	}
	if _, ok := DecodeInfo(nil); ok {
		t.Error("nil is a payload")
	}
}

func TestIsTraceParent(t *testing.T) {
	for s, want := range map[string]bool{
		tp:                      true,
		"01" + tp[2:]:           true,
		"ff" + tp[2:]:           false,
		"":                      false,
		tp[:54]:                 false,
		tp + "0":                false,
		tp + "-00":              false,
		strings.ToUpper(tp):     false,
		tp[:53] + "0g":          false,
		"0x" + tp[2:]:           false,
		tp[:2] + "_" + tp[3:]:   false,
		tp[:35] + "_" + tp[36:]: false,
		tp[:52] + "_" + tp[53:]: false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\"": false,
	} {
		if got := isTraceParent(s); got != want {
			t.Errorf("isTraceParent(%q) = %v", s, got)
		}
	}
}

func TestIsRevoke(t *testing.T) {
	for s, want := range map[string]bool{
		"__REVOKE__": true, "unlock": true, `{"v":1,"revoke":true}`: true, `{"v":1,"id":"a","revoke":true}`: true,
		`{"v":1,"revoke":false}`: false, `{"v":2,"revoke":true}`: false, `{"revoke":true}`: false, `{"v":1,"id":"\"revoke\":true"}`: false,
		"": false, "__revoke__": false, "__REVOKE__\n": false, " unlock": false, "unlocked": false, "__REVOKE__x": false, `{"v":1}`: false,
	} {
		if got := IsRevoke([]byte(s)); got != want {
			t.Errorf("IsRevoke(%q) = %v", s, got)
		}
	}
	if IsRevoke(nil) {
		t.Error("nil revokes")
	}
}

// The request goes beside what the data says, which stays readable, and complete as
// long as it can be read.
func TestAddRevoke(t *testing.T) {
	full := Info{strings.Repeat("i", 200), strings.Repeat("h", 200), 4711, strings.Repeat("o", 200), strings.Repeat("n", 200), tp, false}
	asked := full
	asked.Revoke = true
	long := func(n int) string { return `{"v":1,"id":"a","new":"` + strings.Repeat("x", n-25) + `"` }
	for data, want := range map[string]string{
		`{"v":1}`:                      `{"v":1,"revoke":true}`,
		`{"v":1,"id":"a}"}`:            `{"v":1,"id":"a}","revoke":true}`,
		" {\"v\":1, \"new\":[{}] } \n": ` {"v":1, "new":[{}] ,"revoke":true}`,
		string(full.Encode()):          string(asked.Encode()),
		long(1000) + "}":               long(1000) + `,"revoke":true}`,
		long(4096-14) + "}":            long(4096-14) + `,"revoke":true}`,
		long(4096-13) + "}":            `{"v":1,"id":"a","revoke":true}`,
		"":                             "",
		"10.0.0.7":                     "",
		"__REVOKE__":                   "",
		`{"v":2}`:                      "",
	} {
		got, ok := AddRevoke([]byte(data))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", data, got, ok, want)
		}
	}
}

func TestLabel(t *testing.T) {
	long := strings.Repeat("x", maxLabel)
	for data, want := range map[string]string{
		"":                "",
		"10.0.0.7":        "10.0.0.7",
		"größer 日本":       "größer 日本",
		long:              long,
		long + "x":        "",
		"\xff":            "",
		"a\x1b[2J\nb":     "a\uFFFD[2J\uFFFDb",
		RevokeWord:        "",
		"unlock":          "",
		`{"v":1}`:         `{"v":1}`,
		`{"revoke":true}`: `{"revoke":true}`,
	} {
		if got := Label([]byte(data)); got != want {
			t.Errorf("Label(%q) = %q, want %q", data, got, want)
		}
	}
}

func FuzzDecodeInfo(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a","host":"b","pid":7,"owner":{"id":"c","name":"d"},"tp":"` + tp + `"}`))
	f.Add([]byte(`{"v":1,"id":"\u001b\"\\\u2028"}`))
	f.Add([]byte("127.0.0.1"))
	f.Add([]byte("\"\\\"\\\xff\x00é€😀"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, ok := DecodeInfo(data)
		if !ok && info != (Info{}) {
			t.Fatalf("%+v without ok", info)
		}
		for _, s := range []string{info.Identity, info.Host, info.OwnerID, info.OwnerName} {
			if !utf8.ValidString(s) || strings.ContainsFunc(s, unshowable) {
				t.Fatalf("%q is not fit to be shown", s)
			}
		}
		checkEncoded(t, info)
		if asked, can := AddRevoke(data); can != ok {
			t.Fatalf("AddRevoke: %v, DecodeInfo: %v", can, ok)
		} else if ok {
			got, ok := DecodeInfo(asked)
			if len(asked) > maxForeign || !ok || !got.Revoke || !IsRevoke(asked) {
				t.Fatalf("%q became %q", data, asked)
			}
			if got.Revoke = info.Revoke; got != info && len(data)+len(revokeMember) <= maxForeign {
				t.Fatalf("%q became %q", data, asked)
			}
		}
		// The same bytes as texts to encode.
		s, n := string(data), len(data)
		checkEncoded(t, Info{s[n/4:], s[n/3:], n, s[n/2:], s, tp, n%2 == 0})
		checkEncoded(t, Info{s, s, n - 10, s, s, s, n%2 == 1})
	})
}
