package zktest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	wordVersions = regexp.MustCompile(`(version[:=]? ?\t?)[^\n]*`)
	wordAddress  = regexp.MustCompile(`/127\.0\.0\.1:\d+`)
	wordExpiry   = regexp.MustCompile(`(?m)^\d+ expire at \w{3} \w{3} \d\d \d\d:\d\d:\d\d \S+ \d{4}:\n`)
	wordNumber   = regexp.MustCompile(`-?\b\d[\d.]*`)
	// What depends on the time, on the transactions before, or on the machine.
	wordVaries = regexp.MustCompile(`((?:est|lzxid|lresp|llat|minlat|avglat|maxlat)=|Latency.*: |Received: |Sent: |Zxid: |Sets |clientPort=|Dir=|Size=|(?:dir|sizes).*: |` +
		`zk_(?:avg_latency|max_latency|packets_sent|packets_received|approximate_data_size|leader_uptime|uptime|min_latency|synced_followers|learners|quorum_size)\t)[^,)\s]*`)
	wordEnvironment = regexp.MustCompile(`(?m)=.*$`)
	wordUnknown     = regexp.MustCompile(`(?m)^.*0x[1-9][0-9a-f]{14}.*\n`)
)

// text returns an answer without what differs from server to server and from time to
// time, and in one order where ZooKeeper has none.
func (s *wordSite) text(word, answer string) string {
	for i, c := range s.conns {
		answer = strings.ReplaceAll(answer, fmt.Sprintf("0x%x", c.hi.SessionID), fmt.Sprintf("S%d", i))
	}
	answer = wordVersions.ReplaceAllString(answer, "${1}*")
	answer = wordAddress.ReplaceAllString(answer, "/*")
	answer = wordUnknown.ReplaceAllString(answer, "") // sessions of other clients
	answer = wordExpiry.ReplaceAllString(answer, "")
	answer = wordVaries.ReplaceAllString(answer, "${1}*")
	if s.mask != nil {
		answer = s.mask(answer)
	}
	switch word {
	case "envi":
		answer = wordEnvironment.ReplaceAllString(answer, "=*")
	case "stat":
		head, rest, _ := strings.Cut(answer, "\n\n")
		answer = wordNumber.ReplaceAllString(head, "*") + "\n\n" + rest
	}
	return sortLines(answer)
}

// sortLines sorts what is indented below a line, and lines about connections, and leaves
// out those that are there already.
func sortLines(text string) string {
	type block struct {
		head string
		rest []string
	}
	var blocks []block
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "\t") && len(blocks) > 0 {
			last := &blocks[len(blocks)-1]
			last.rest = append(last.rest, line)
			continue
		}
		blocks = append(blocks, block{head: line})
	}
	var lines []string
	for _, b := range blocks {
		slices.Sort(b.rest)
		lines = append(lines, strings.Join(append([]string{b.head}, slices.Compact(b.rest)...), "\n"))
	}
	movable := func(line string) bool {
		return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "S") && !strings.HasPrefix(line, "Se")
	}
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && (movable(lines[to]) || strings.HasPrefix(lines[to], "/")) {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	return strings.Join(slices.Compact(lines), "\n")
}

// subset returns the lines of a text whose keys, up to a tab or "=", another text has too.
func subset(text, other string) string {
	key := func(line string) string { return line[:max(strings.IndexAny(line, "\t="), 0)] }
	var lines []string
	for line := range strings.Lines(text) {
		if k := key(line); k != "" && strings.Contains("\n"+other, "\n"+k+line[len(k):len(k)+1]) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
