package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

// LockColumns are the columns of a list.
var LockColumns = []table.Column{
	{Head: "WAITERS", Align: table.Right}, {Head: "OLDEST", Align: table.Right}, {Head: "LOCK"}, {Head: "KIND"},
	{Head: "HELD BY"}, {Head: "HOST"}, {Head: "PID", Align: table.Right}, {Head: "OWNER"}, {Head: "IN LINE", Align: table.Right},
}

// LockRows returns the rows of a list.
func LockRows(locks []Lock, now time.Time) [][]string {
	rows := make([][]string, len(locks))
	for i := range locks {
		lock := &locks[i]
		oldest, by, host, pid, owner, in := "-", "-", "-", "-", "-", "-"
		if !lock.WaitingSince.IsZero() {
			oldest = text.Age(now.Sub(lock.WaitingSince))
		}
		if h := lock.Holder; h != nil {
			by, host, owner, in = orDash(h.Identity), orDash(h.Host), orDash(h.OwnerName), h.AgeText(now)
			if h.PID != 0 {
				pid = strconv.Itoa(h.PID)
			}
			if lock.Holders > 1 {
				by += fmt.Sprintf(" +%d", lock.Holders-1)
			}
		}
		rows[i] = []string{strconv.Itoa(lock.Waiters), oldest, text.Plain(lock.Path), lock.Kind, by, host, pid, owner, in}
	}
	return rows
}

// orDash returns a text as a cell.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return text.Plain(s)
}

// WriteQueue writes a queue for a person.
func WriteQueue(w io.Writer, s *table.Style, q *Queue) {
	if len(q.Nodes) > 0 {
		fmt.Fprintf(w, "%s: %s, %s\n", s.Head(text.Plain(q.Path)), q.Kind, q.Counts())
	}
	places := q.Places()
	for i := range q.Nodes {
		fmt.Fprintln(w)
		WriteNode(w, s, &q.Nodes[i], i+1, places[q.Nodes[i].BlockedBy], q.At)
	}
	if len(q.Suspects) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.Warn("These look like the lock nodes of another recipe, which no lock here heeds: "+plainList(q.Suspects)))
	}
	if len(q.Other) > 0 {
		fmt.Fprintf(w, "\n%s %s\n", s.Faint("Other nodes below the path:"), plainList(q.Other))
	}
}

// Counts says how many calls hold the lock and wait for it.
func (q *Queue) Counts() string {
	holds, waits := "holds", "wait"
	if len(q.Holders()) != 1 {
		holds = "hold"
	}
	if q.Waiters() == 1 {
		waits = "waits"
	}
	return fmt.Sprintf("%d %s, %d %s", len(q.Holders()), holds, q.Waiters(), waits)
}

// Places returns the places in line of the nodes, from 1, by their full paths.
func (q *Queue) Places() map[string]int {
	places := make(map[string]int, len(q.Nodes))
	for i := range q.Nodes {
		places[q.Nodes[i].Node] = i + 1
	}
	return places
}

// MaxListed is how many names a message lists.
const MaxListed = 20

// plainList returns names as one line.
func plainList(names []string) string {
	var all []string
	for _, n := range names[:min(len(names), MaxListed)] {
		all = append(all, text.Name(n))
	}
	if n := len(names) - MaxListed; n > 0 {
		all = append(all, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(all, ", ")
}

// WriteNode writes a node in line at a place, and the place of the node that it waits
// for, which is 0 for none.
func WriteNode(w io.Writer, s *table.Style, n *Node, place, blocker int, now time.Time) {
	arrow, does := fmt.Sprint(place), s.Good("holds")
	switch {
	case n.Second:
		does = "second node of the call before it"
	case !n.Held && blocker > 0:
		does = fmt.Sprintf("waits for %d", blocker)
	case !n.Held:
		does = "waits"
	}
	if blocker > 0 {
		arrow += fmt.Sprintf(" -> %d", blocker)
	}
	line := func(left, right string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s %s", left, right), " "))
	}
	line(arrow, n.Who())
	line("", fmt.Sprintf("%s (%s), in line %s", does, n.Mode, n.SinceText(now)))
	if n.Limit > 0 {
		line("", fmt.Sprintf("weight %d of the limit %d", n.Weight, n.Limit))
	}
	line("", "node "+text.Plain(n.Name))
	line("", fmt.Sprintf("session %s, fence %d, version %d, by %s", n.Session, n.Fence, n.Version, n.Form))
	if n.OwnerID != "" {
		line("", "owner "+strings.TrimSpace(text.Name(n.OwnerID)+" "+quotedOrNone(n.OwnerName)))
	}
	if n.TraceID != "" {
		line("", "trace "+n.TraceID)
	}
	if n.Revoked {
		line("", s.Warn("asked to give the lock back"))
	}
	if n.Stays() {
		line("", s.Bad("belongs to no session: it stays until somebody deletes it"))
	}
}

func quotedOrNone(s string) string {
	if s == "" {
		return ""
	}
	return text.Quoted(s)
}

// SinceText says when a node came, by the server's clock.
func (n *Node) SinceText(now time.Time) string {
	if n.Since.IsZero() {
		return "since a time that this session may not read"
	}
	return fmt.Sprintf("since %s (%s)", n.Since.UTC().Format("2006-01-02 15:04:05 UTC"), n.AgeText(now))
}
