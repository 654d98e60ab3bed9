// Package text makes texts of other programs fit for a person's eyes.
//
// What a lock node says was written by somebody else: a name may hold control
// sequences, line breaks, or characters that change the direction of writing.
//
// Invariant: what a function of this package returns is one line without control
// characters.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxName is how many characters of a name a message shows.
const maxName = 80

// Plain returns s as it is, or quoted if a terminal could not show it as it is, or if
// the reader could not see where it begins and ends.
func Plain(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == utf8.RuneError }
	if s == "" || strings.ContainsFunc(s, odd) || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// Quoted returns s in quotes for a message, cut in the middle if it is long.
func Quoted(s string) string { return strconv.Quote(Cut(strings.ToValidUTF8(s, "\ufffd"), maxName)) }

// Name returns s for a message: plain if it is one plain word, quoted otherwise, and
// cut in the middle if it is long.
func Name(s string) string {
	s = Cut(strings.ToValidUTF8(s, "\ufffd"), maxName)
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return strconv.Quote(s)
	}
	return Plain(s)
}

// Cut returns s with at most n characters. It takes them out of the middle, since the
// ends of a path or of a host's name tell more.
func Cut(s string, n int) string {
	const gap = "..."
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	all := []rune(s)
	if n <= len(gap) {
		return string(all[:max(n, 0)])
	}
	head := (n - len(gap)) / 2
	return string(all[:head]) + gap + string(all[len(all)-(n-len(gap)-head):])
}

// Age returns a duration with the two largest of its units, as in 3h12m.
func Age(d time.Duration) string {
	d = max(d, 0) // the server's clock may be ahead of this machine's
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d/time.Second%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d/time.Minute%60)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d/time.Hour%24)
}

// Count returns a number with the word for what it counts.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
