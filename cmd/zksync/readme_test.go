//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// screens returns the blocks of the README that show a screen of "zksync watch".
func screens(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], "locks below ") || strings.Contains(m[1], "\nType ") {
			found = append(found, m[1])
		}
	}
	return found
}

// essence is what a screen shows each time: without numbers, the name of the host, and
// empty lines and spaces.
func essence(screen string) string {
	if host, err := os.Hostname(); err == nil {
		screen = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(screen, "db1")
	}
	for _, r := range [][2]string{
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "GUID"}, {`\b0x[0-9a-f]+`, "ID"}, {`\b\d+(s|m\d\ds)\b`, "AGE"}, {`\d+`, "N"}, {`[ ─]+`, " "}, {`\s*\n\s*`, "\n"},
	} {
		screen = regexp.MustCompile(r[0]).ReplaceAllString(screen, r[1])
	}
	return strings.TrimSpace(screen)
}

func TestReadmeScreens(t *testing.T) {
	want := screens(t)
	if len(want) != 2 {
		t.Fatalf("the README shows %d screens, want 2", len(want))
	}
	z := embeddedSite()
	t.Cleanup(z.close)
	s := z.dial(t, zksync.WithIdentity("nightly-backup"))
	hold(t, zksync.NewMutex(s, "/locks/nightly"))
	wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("report")), "/locks/nightly"))
	z.inLine(t, s, "/locks/nightly", 2)
	hold(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("reindex")), "/locks/reindex"))
	term := onScreen(t, z.command(t, "watch", "/locks"))
	got := term.shows(t, "locks below /locks: 2 locks, 1 waiter", "reindex")
	list, _, _ := strings.Cut(got, "up down choose")
	if essence(list) != essence(want[0]) {
		t.Errorf("the screen is\n%s\nand the README shows\n%s", list, want[0])
	}
	term.press(t, keyEnter)
	term.shows(t, "report on ", "esc back")
	term.press(t, "b")
	got = term.shows(t, "press enter, or press esc:")
	if essence(got) != essence(want[1]) {
		t.Errorf("the screen is\n%s\nand the README shows\n%s", got, want[1])
	}
	term.press(t, keyEsc)
	term.shows(t, "nothing was done")
	term.press(t, "q")
	term.wantCode(t, 0)
}
