package zktest

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
)

// A four-letter word, sent instead of a session's first frame, asks a server for what it
// knows of itself. The answer is text, and the end of the connection is its end.

// wordVersion is what the server says that it is: the release whose answers it gives, and
// the date of that release.
const wordVersion = "3.8.0-zktest, built on 2022-02-25 08:49 UTC"

// words are the answers of a member to the words that it knows. srv.mu is held.
var words = map[string]func(*conn, *bytes.Buffer){
	"conf": (*conn).wordConf,
	"cons": (*conn).wordCons,
	"crst": (*conn).wordCrst,
	"dirs": func(_ *conn, b *bytes.Buffer) { b.WriteString("datadir_size: 0\nlogdir_size: 0\n") },
	"dump": (*conn).wordDump,
	"envi": func(_ *conn, b *bytes.Buffer) { wordEnvi(b) },
	"isro": func(_ *conn, b *bytes.Buffer) { b.WriteString("rw") },
	"mntr": (*conn).wordMntr,
	"ruok": func(_ *conn, b *bytes.Buffer) { b.WriteString("imok") },
	"srst": (*conn).wordSrst,
	"srvr": func(c *conn, b *bytes.Buffer) { c.wordStat(b, false) },
	"stat": func(c *conn, b *bytes.Buffer) { c.wordStat(b, true) },
	"wchc": (*conn).wordWchc,
	"wchp": (*conn).wordWchp,
	"wchs": (*conn).wordWchs,
}

// otherWords are those of ZooKeeper that have no answer here. They are refused like the
// others unless they are enabled.
var otherWords = []string{"gtmk", "hash", "stmk"}

// alwaysAnswered are the words that a server without a quorum answers, too.
var alwaysAnswered = []string{"envi", "ruok", "gtmk", "hash", "stmk"}

// peekWord returns the four-letter word that a connection begins with, or "".
func peekWord(r *bufio.Reader) string {
	b, err := r.Peek(4)
	if err != nil {
		return ""
	}
	w := string(b)
	if words[w] == nil && !slices.Contains(otherWords, w) {
		return ""
	}
	return w
}

// word answers a four-letter word. The connection ends then.
func (c *conn) word(w string) {
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	enabled := s.cfg.words[w]
	s.log("four-letter word", "word", w, "enabled", enabled)
	var b bytes.Buffer
	switch answer := words[w]; {
	case !enabled:
		fmt.Fprintf(&b, "%s is not executed because it is not in the whitelist.\n", w)
	case s.lost && w == "isro":
		b.WriteString("null")
	case s.lost && !slices.Contains(alwaysAnswered, w):
		b.WriteString("This ZooKeeper instance is not currently serving requests\n")
	case answer != nil:
		answer(c, &b)
	}
	if b.Len() > 0 {
		c.send(b.Bytes())
	}
}

// allowWords returns the set of words that are enabled. Without srvr ZooKeeper's own
// scripts would fail, so it always is.
func allowWords(list []string) map[string]bool {
	set := map[string]bool{"srvr": true}
	for _, w := range list {
		set[w] = true
	}
	if set["*"] {
		for w := range words {
			set[w] = true
		}
		for _, w := range otherWords {
			set[w] = true
		}
	}
	return set
}
