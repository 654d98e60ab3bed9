package znode

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// pathTests has, for each path, what the error says, or "" for none.
var pathTests = []struct{ path, says string }{
	{"/a", ""},
	{"/a/b/c", ""},
	{"/locks/order 7:@=+,é€", ""},
	{"/...", ""},
	{"/.a/b./..c", ""},
	{"/zookeepers", ""},
	{"/a/zookeeper", ""},
	{"/" + strings.Repeat("a", MaxPath-1), ""},
	{"/\ud7ff\uf900\uffef", ""},

	{"", "empty"},
	{"/" + strings.Repeat("a", MaxPath), "longer than 2048"},
	{"a", "does not start"},
	{"a/b", "does not start"},
	{"/", "root"},
	{"//", "ends with"},
	{"/a/", "ends with"},
	{"//a", "empty element"},
	{"/a//b", "empty element"},
	{"/.", "relative"},
	{"/..", "relative"},
	{"/./a", "relative"},
	{"/../a", "relative"},
	{"/a/./b", "relative"},
	{"/a/../b", "relative"},
	{"/a/.", "relative"},
	{"/a/..", "relative"},
	{"/zookeeper", "ZooKeeper itself"},
	{"/zookeeper/quota", "ZooKeeper itself"},
	{"/a\x00b", "U+0000"},
	{"/a\nb", "U+000A"},
	{"/a\x1f", "U+001F"},
	{"/a\x7f", "U+007F"},
	{"/a\u0080", "U+0080"},
	{"/a\u009f", "U+009F"},
	{"/a\ue000", "U+E000"},
	{"/a\uf000", "U+F000"},
	{"/a\uf8ff", "U+F8FF"},
	{"/a\ufff0", "U+FFF0"},
	{"/a\ufffd", "U+FFFD"},
	{"/a\uffff", "U+FFFF"},
	{"/a😀", "U+1F600"},
	{"/a\U0010ffff", "U+10FFFF"},
	{"/a\xff", "not valid UTF-8 at byte 2"},
	{"/a\xc3", "not valid UTF-8"},
	{"/\xed\xa0\x80", "not valid UTF-8"},
}

func TestValidPath(t *testing.T) {
	for _, tt := range pathTests {
		err := ValidPath(tt.path)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("ValidPath(%.40q) = %v; want %q in it", tt.path, err, tt.says)
		}
	}
}

// lost is a host provider whose server is not there.
type lost struct{}

func (lost) Init([]string) error  { return nil }
func (lost) Len() int             { return 1 }
func (lost) Next() (string, bool) { return "nowhere:2181", true }
func (lost) Connected()           {}

type silent struct{}

func (silent) Printf(string, ...any) {}

// TestValidPathAgreesWithClient holds ValidPath against the client's own check,
// which it makes before it sends anything: no path that we take is refused
// there.
func TestValidPathAgreesWithClient(t *testing.T) {
	dial := func(string, string, time.Duration) (net.Conn, error) { return nil, errors.New("nobody there") }
	c, events, err := zk.Connect([]string{"nowhere"}, time.Second, zk.WithDialer(dial), zk.WithHostProvider(lost{}),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for range events { // closed when the client's goroutines are done
	}
	refused := 0
	check := func(path string) {
		_, _, err := c.Exists(path)
		if errors.Is(err, zk.ErrInvalidPath) {
			refused++
			if ValidPath(path) == nil {
				t.Errorf("the client refuses %q", path)
			}
		}
	}
	for _, tt := range pathTests {
		check(tt.path)
	}
	for r := rune(0); r <= 0x1ffff; r += 1 + r/0x400 {
		check("/a" + string(r) + "b")
	}
	if refused < 50 {
		t.Errorf("the client refused %d paths only", refused)
	}
}

func TestEscapeElement(t *testing.T) {
	long := strings.Repeat("a", 256)
	for in, want := range map[string]string{
		"":                "%",
		"%":               "%25",
		".":               "%2E",
		"..":              "%2E%2E",
		"%2E":             "%252E",
		"...":             "...",
		"a.b":             "a.b",
		"/":               "%2F",
		"a/b":             "a%2Fb",
		"order:7@x=y+z,w": "order:7@x=y+z,w",
		"A-Za-z0-9_~":     "A-Za-z0-9_~",
		"a b":             "a%20b",
		"é":               "%C3%A9",
		"😀":               "%F0%9F%98%80",
		"\x00\xff":        "%00%FF",
		"%~":              "%25~",
		"zookeeper":       "zookeeper",
		long[:255]:        long[:255],
		long:              long[:128] + "%~02d7160d77e18c6447be80c2e355c7ed4388545271702c50253b0914c65ce5fe",

		strings.Repeat("/", 85): strings.Repeat("%2F", 85),
		strings.Repeat("/", 86): strings.Repeat("%2F", 42) + "%~" + "8253e1c020580e56b673e08d1b2b8a23ba4bbe623a949fb96a50b086c1b44913",
	} {
		got := EscapeElement(in)
		if got != want {
			t.Errorf("EscapeElement(%.40q) = %q, want %q", in, got, want)
		}
		checkElement(t, in)
	}
}

// checkElement checks what holds for every element.
func checkElement(t *testing.T, name string) {
	t.Helper()
	e := EscapeElement(name)
	if e == "" || len(e) > 255 || strings.Contains(e, "/") || ValidPath("/locks/"+e) != nil || ValidPath("/locks/"+e+"/x") != nil {
		t.Fatalf("EscapeElement(%q) = %q", name, e)
	}
	switch {
	case e == "%":
		if name != "" {
			t.Fatalf("EscapeElement(%q) = %q", name, e)
		}
	case strings.Contains(e, "%~"):
		if len(name) <= 255/3 {
			t.Fatalf("EscapeElement(%q) = %q", name, e)
		}
	default:
		if back, err := url.PathUnescape(e); err != nil || back != name {
			t.Fatalf("EscapeElement(%q) = %q, which means %q, %v", name, e, back, err)
		}
	}
}

func TestEscapeElementInjective(t *testing.T) {
	seen := map[string]string{}
	add := func(s string) {
		e := EscapeElement(s)
		if other, ok := seen[e]; ok && other != s {
			t.Fatalf("%q and %q both become %q", other, s, e)
		}
		seen[e] = s
		checkElement(t, s)
	}
	// Every string of up to four of the characters that matter.
	const chars = "%~.2EeF/a\x00\xff"
	var grow func(prefix string)
	grow = func(prefix string) {
		add(prefix)
		for i := 0; i < len(chars) && len(prefix) < 4; i++ {
			grow(prefix + chars[i:i+1])
		}
	}
	grow("")
	// Long ones that differ only far behind, and one that looks like a sum.
	for n := 250; n < 300; n++ {
		for _, c := range []string{"a", "%", "/"} {
			add(strings.Repeat(c, n))
			add(strings.Repeat(c, n) + "b")
		}
	}
	add(EscapeElement(strings.Repeat("a", 300)))
}

func FuzzEscapeElement(f *testing.F) {
	f.Add("", ".")
	f.Add("a/b", "a%2Fb")
	f.Add(strings.Repeat("x", 300), strings.Repeat("x", 301))
	f.Add("\xff", "\ufffd")
	f.Fuzz(func(t *testing.T, a, b string) {
		checkElement(t, a)
		checkElement(t, b)
		if (EscapeElement(a) == EscapeElement(b)) != (a == b) {
			t.Fatalf("%q and %q become %q and %q", a, b, EscapeElement(a), EscapeElement(b))
		}
		if e := EscapeElement(a); EscapeElement(e) == e && e != a {
			t.Fatalf("%q is its own escape, and that of %q", e, a)
		}
		_ = ValidPath(a)
	})
}
