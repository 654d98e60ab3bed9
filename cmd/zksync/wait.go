package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// announceEvery is the least time between two announcements of one wait.
// Otherwise a long line that moves fast would fill a log.
const announceEvery = 5 * time.Second

// announcer prints whom a lock is waited for: once when the wait starts, and again
// when that changes.
type announcer struct {
	lock string
	note func(format string, args ...any)

	mu      sync.Mutex
	said    zksync.Peer // the subject of the last announcement
	latest  zksync.Peer
	last    time.Time   // when the last announcement was made
	timer   *time.Timer // set while an announcement is due later
	stopped bool
}

// blocked is the function Blocked of a [zksync.Tracer].
func (a *announcer) blocked(_ context.Context, p zksync.Peer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest = p
	if a.stopped || a.timer != nil {
		return
	}
	if wait := announceEvery - time.Since(a.last); !a.last.IsZero() && wait > 0 {
		a.timer = time.AfterFunc(wait, a.due)
		return
	}
	a.announce()
}

// due makes the announcement that was put off.
func (a *announcer) due() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = nil
	if !a.stopped {
		a.announce()
	}
}

// announce prints the latest peer, unless the last announcement was about the
// same one. The caller holds a.mu.
func (a *announcer) announce() {
	if !a.last.IsZero() && a.said.Node == a.latest.Node && a.said.Position == a.latest.Position {
		return
	}
	a.said, a.last = a.latest, time.Now()
	a.note("waiting for %s, %s", a.lock, describe(a.said, a.last))
}

// stop ends the announcements: the wait is over.
func (a *announcer) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// notFree returns a line about a lock that was not free. The peer may be unknown.
func notFree(lock string, p *zksync.Peer, now time.Time) string {
	switch {
	case p == nil:
		return lock + " is held by another"
	case p.Position > 1:
		return lock + " is held by another; " + describe(*p, now)
	}
	return lock + " is " + describe(*p, now)
}

// heldBy returns a line about a lock that was not free, before which waiters wait, too.
func heldBy(lock string, held []*view.Node, waiters int, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is held by %s", lock, held[0].Program())
	if n := len(held) - 1; n > 0 {
		fmt.Fprintf(&b, " and %s", text.Count(n, "other", "others"))
	}
	if !held[0].Since.IsZero() {
		fmt.Fprintf(&b, ", in the queue for %s", max(now.Sub(held[0].Since), 0).Round(time.Second))
	}
	if waiters > 0 {
		fmt.Fprintf(&b, "; %s in line", text.Count(waiters, "waiter", "waiters"))
	}
	return b.String()
}

// describe returns text about the peer that a wait is for, and how long that
// peer has been in the queue. The peer is the holder only if the waiter's position
// is 1.
func describe(p zksync.Peer, now time.Time) string {
	var b strings.Builder
	if p.Position > 1 {
		fmt.Fprintf(&b, "place %d in line, behind ", p.Position)
	} else {
		b.WriteString("held by ")
	}
	b.WriteString(name(p))
	if !p.Since.IsZero() {
		// The server's clock may be ahead of this machine's.
		since := max(now.Sub(p.Since), 0).Round(time.Second)
		fmt.Fprintf(&b, ", in the queue for %s", since)
	}
	return b.String()
}

// name returns who a peer is, as far as its node says.
func name(p zksync.Peer) string {
	var parts []string
	if p.Identity != "" {
		parts = append(parts, printable(p.Identity))
	}
	if p.OwnerName != "" {
		parts = append(parts, "for "+printable(p.OwnerName))
	}
	if p.Host != "" {
		parts = append(parts, "on "+printable(p.Host))
	}
	if p.PID != 0 {
		parts = append(parts, fmt.Sprintf("(pid %d)", p.PID))
	}
	if len(parts) == 0 {
		n := view.NewNode(&p.LockNode)
		return n.Program()
	}
	return strings.Join(parts, " ")
}

// printable makes the text of another process fit for a terminal: it replaces
// control sequences, line breaks, and characters that change the direction of
// writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
