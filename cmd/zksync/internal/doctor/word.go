package doctor

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// words are the four-letter words that are tried, those that make no work for a server.
// By default a server answers srvr only.
var words = []string{"srvr", "ruok", "isro", "mntr", "conf"}

// ask sends a four-letter word, and returns the answer, or nothing if the server does
// not answer the word.
func (d *Doctor) ask(ctx context.Context, addr, word string) string {
	c, err := d.open(ctx, addr)
	if err != nil {
		return ""
	}
	defer c.end()
	if _, err := io.WriteString(c, word); err != nil {
		return ""
	}
	answer, err := io.ReadAll(io.LimitReader(c, 1<<20))
	if err != nil || strings.Contains(string(answer), "not in the whitelist") {
		return ""
	}
	return string(answer)
}

var (
	versionLine = regexp.MustCompile(`(?mi)^zookeeper version: (\d+\.\d+\.\d+)`)
	modeLine    = regexp.MustCompile(`(?m)^Mode: (\S+)`)
	tickLine    = regexp.MustCompile(`(?m)^tickTime=(\d+)`)
)

// wordsWithin limits the time for the words of a server that gives no session. Something
// that is no ZooKeeper may wait for more than four letters.
const wordsWithin = 2 * time.Second

// askAll asks a server all words at once, and keeps what they tell.
func (d *Doctor) askAll(ctx context.Context, s *Server) {
	patience := d.Patience
	if s.State != Serving {
		patience = min(patience, wordsWithin)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]string, len(words))
	var all sync.WaitGroup
	for i, word := range words {
		all.Go(func() { answers[i] = d.ask(ctx, s.Address, word) })
	}
	all.Wait()
	for i, word := range words {
		answer := answers[i]
		if answer == "" {
			continue
		}
		s.Words = append(s.Words, word)
		s.learn(word, answer)
	}
}

// learn keeps what the answer to a word tells.
func (s *Server) learn(word, answer string) {
	switch {
	case strings.Contains(answer, "not currently serving requests"):
		s.unready = true
	case word == "srvr":
		if m := versionLine.FindStringSubmatch(answer); m != nil {
			s.Version = m[1]
		}
		if m := modeLine.FindStringSubmatch(answer); m != nil {
			s.Role = m[1]
		}
	case word == "conf":
		if m := tickLine.FindStringSubmatch(answer); m != nil {
			ms, _ := strconv.Atoi(m[1]) // of digits
			s.tick = float64(ms) / 1000
		}
	}
}
