package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/zklocker/go-zksync/zksync"
)

// announceEvery is the least time between two announcements of one wait. A
// long line that moves fast would fill a log otherwise.
const announceEvery = 5 * time.Second

// announcer tells on stderr whom the wait for a lock is for: once when the
// wait starts, and again when that has changed.
type announcer struct {
	lock string
	note func(format string, args ...any)

	mu     sync.Mutex
	said   zksync.Peer // what the last announcement was about
	latest zksync.Peer
	last   time.Time   // of the last announcement
	timer  *time.Timer // set while an announcement is due later
	over   bool
}

// blocked is the [zksync.Tracer]'s function of that name.
func (a *announcer) blocked(_ context.Context, p zksync.Peer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest = p
	if a.over || a.timer != nil {
		return
	}
	if wait := announceEvery - time.Since(a.last); !a.last.IsZero() && wait > 0 {
		a.timer = time.AfterFunc(wait, a.due)
		return
	}
	a.say()
}

func (a *announcer) due() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = nil
	if !a.over {
		a.say()
	}
}

// say announces the latest, if that is news. The caller holds a.mu.
func (a *announcer) say() {
	if !a.last.IsZero() && a.said.Node == a.latest.Node && a.said.Position == a.latest.Position {
		return
	}
	a.said, a.last = a.latest, time.Now()
	a.note("%s", describe(a.lock, a.said, a.last))
}

// stop ends the announcements: the wait is over.
func (a *announcer) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// describe says whom a wait is for and for how long that one has stood in the
// queue. Only the peer that a waiter in place 1 watches is the holder.
func describe(lock string, p zksync.Peer, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "waiting for %s, ", lock)
	if p.Position > 1 {
		fmt.Fprintf(&b, "place %d in line, behind ", p.Position)
	} else {
		b.WriteString("held by ")
	}
	b.WriteString(name(p))
	if !p.Since.IsZero() {
		// The server's clock may be ahead of ours.
		since := max(now.Sub(p.Since), 0).Round(time.Second)
		fmt.Fprintf(&b, ", in the queue for %s", since)
	}
	return b.String()
}

// name says who a peer is, by what it tells of itself.
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
		return "a node that says no name, " + printable(p.Node)
	}
	return strings.Join(parts, " ")
}

// printable makes another's words fit for a terminal: no control sequences, no
// line breaks, nothing that turns the writing direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
