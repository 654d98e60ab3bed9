package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "plain": "plain", "two words": "two words", " edge": `" edge"`, "a\nb": `"a\nb"`, "\x1b[31m": `"\x1b[31m"`,
		`say "x"`: `"say \"x\""`, "\u202eback": `"\u202eback"`, "\xff": `"\xff"`, "größe": "größe", "錠": "錠",
	} {
		if got := text.Plain(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestName(t *testing.T) {
	long := "/locks/" + strings.Repeat("x", 300) + "/end"
	for in, want := range map[string]string{
		"": `""`, "plain": "plain", "two words": `"two words"`, "a\nb": `"a\nb"`, "\xff": `"�"`,
		long: long[:38] + "..." + long[len(long)-39:],
	} {
		if got := text.Name(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	if got := text.Quoted(long); utf8.RuneCountInString(got) != 82 {
		t.Errorf("%d characters in %s", utf8.RuneCountInString(got), got)
	}
}

func TestCut(t *testing.T) {
	for n, want := range map[int]string{0: "", 2: "äb", 3: "äbc", 4: "...h", 5: "ä...h", 7: "äb...gh", 8: "äbcdefgh", 9: "äbcdefgh"} {
		if got := text.Cut("äbcdefgh", n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59*time.Second + 999*time.Millisecond: "59s", time.Minute: "1m00s", 3*time.Hour + 12*time.Minute: "3h12m",
		26 * time.Hour: "1d02h",
	} {
		if got := text.Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 locks", 1: "1 lock", 2: "2 locks"} {
		if got := text.Count(n, "lock", "locks"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
