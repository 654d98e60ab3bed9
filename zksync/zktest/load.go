package zktest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Load adds the nodes of a text as [Server.Snapshot] writes it without masks, in one
// transaction. Missing parents are made, without data. Spaces around a line and empty
// lines don't matter. Each number behind ephemeral becomes a session whose client never
// comes back, as after the crash of a program: [Server.Expire] ends it, or the longest
// session timeout. The next sequential node below a parent gets a higher number than its
// children have.
//
// Load returns an error, and changes nothing, if it can't read a line, or if a node is
// there already or can't be there. The error has the number of the line, from 1, and says
// what is wanted there. The root is there always, and gets the data and the
// ACL of its line.
func (s *Server) Load(text string) error {
	var list []tree.Given
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		g, err := parseNode(line)
		if err != nil {
			return fmt.Errorf("zktest: line %d: %w", n, err)
		}
		g.Line = n
		list = append(list, g)
	}
	return s.load(list)
}

// LoadMap is [Server.Load] for nodes that are nothing but paths with data.
func (s *Server) LoadMap(data map[string]string) error {
	list := make([]tree.Given, 0, len(data))
	for p, d := range data {
		list = append(list, tree.Given{Path: p, Data: []byte(d)})
	}
	return s.load(list)
}

// load adds nodes. Their owners are numbers that stand for new sessions.
func (s *Server) load(list []tree.Given) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.tree.Zxid()
	owners := make(map[int64]int64) // ids of the sessions to be
	for i := range list {
		number := list[i].Owner
		if number == 0 {
			continue
		}
		if owners[number] == 0 {
			owners[number] = s.lastID + int64(len(owners)) + 1
		}
		list[i].Owner = owners[number]
	}
	x := s.begin()
	if err := s.tree.Load(x, list); err != nil {
		s.tree.SetZxid(before)
		return fmt.Errorf("zktest: %w", err)
	}
	for range owners {
		ss := s.newSession()
		ss.timeout = s.cfg.maxLim
		s.touch(ss)
	}
	s.commit(x, nil)
	if s.tree.SelfGoing() {
		s.reapLater()
	}
	return nil
}

// cutToken cuts the first token off a line: up to one of the characters in ends, or a
// quoted string.
func cutToken(line, ends string) (token, rest string, err error) {
	if strings.HasPrefix(line, `"`) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return "", "", fmt.Errorf("no end of %s: want a string in quotes as in Go", line)
		}
		token, err = strconv.Unquote(quoted)
		return token, line[len(quoted):], err
	}
	if i := strings.IndexAny(line, ends); i >= 0 {
		return line[:i], line[i:], nil
	}
	return line, "", nil
}

// parseNode reads a line.
func parseNode(line string) (g tree.Given, err error) {
	g.Data = []byte{}
	var rest string
	if g.Path, rest, err = cutToken(line, " "); err != nil {
		return g, err
	}
	for first := true; rest != ""; first = false {
		var part string
		switch word := strings.TrimLeft(rest, " "); {
		case word == rest:
			return g, fmt.Errorf("no space before %q: want spaces between path, data, kind and ACL", rest)
		case first && strings.HasPrefix(word, `"`):
			if part, rest, err = cutToken(word, " "); err != nil {
				return g, err
			}
			g.Data = []byte(part)
		case strings.HasPrefix(word, `"`):
			return g, fmt.Errorf("data in the wrong place: %s: want it once, right behind the path", word)
		case strings.HasPrefix(word, "acl="):
			if g.ACL, rest, err = parseACL(strings.TrimPrefix(word, "acl=")); err != nil {
				return g, err
			}
		default:
			part, rest, _ = cutToken(word, " ")
			if err = parseKind(&g, part); err != nil {
				return g, err
			}
		}
	}
	return g, nil
}

// parseKind reads the word for the kind of a node.
func parseKind(g *tree.Given, word string) error {
	if g.Owner != 0 || g.Container || g.TTL != 0 {
		return fmt.Errorf("a second kind of node: %q: want one of ephemeral#N, ttl=TIME and container", word)
	}
	if word == "container" {
		g.Container = true
		return nil
	}
	if number, ok := strings.CutPrefix(word, "ephemeral#"); ok {
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("no number of a session: %q: want ephemeral#1 or a higher number", word)
		}
		g.Owner = int64(n)
		return nil
	}
	if text, ok := strings.CutPrefix(word, "ttl="); ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Millisecond {
			return fmt.Errorf("no time to live: %q: want 1ms or more, as in ttl=1m30s", word)
		}
		g.TTL = d.Milliseconds()
		return nil
	}
	return fmt.Errorf("no kind of node: %q: want ephemeral#N, ttl=TIME, container, data in quotes, or acl=", word)
}

// parseACL reads an ACL, and returns what follows it.
func parseACL(text string) (list []wire.ACL, rest string, err error) {
	for {
		var entry string
		if entry, text, err = cutToken(text, " ,"); err != nil {
			return nil, "", err
		}
		a, err := parseEntry(entry)
		if err != nil {
			return nil, "", err
		}
		list = append(list, a)
		if !strings.HasPrefix(text, ",") {
			return list, text, nil
		}
		text = text[1:]
	}
}

// parseEntry reads "scheme:id:permissions".
func parseEntry(entry string) (a wire.ACL, err error) {
	scheme, rest, _ := strings.Cut(entry, ":")
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return a, fmt.Errorf("not scheme:id:permissions: %q: want an entry like world:anyone:cdrwa", entry)
	}
	a = wire.ACL{Scheme: scheme, ID: rest[:i]}
	if n, err := strconv.ParseInt(rest[i+1:], 10, 32); err == nil {
		a.Perms = int32(n)
		return a, nil
	}
	for _, letter := range rest[i+1:] {
		bit := strings.IndexRune(permLetters, letter)
		if bit < 0 {
			return a, fmt.Errorf("no permission: %c: want letters of cdrwa, or a number", letter)
		}
		a.Perms |= 1 << bit
	}
	return a, nil
}
