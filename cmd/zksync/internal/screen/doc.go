// Package screen is the full-screen view of "zksync watch": a list of locks, and the
// queue of one of them, which it reads again and again.
//
// Invariants: a lock is revoked or broken only after the user has confirmed it, and the
// node that is acted on is the one that stood on the screen when the question was asked.
// At most one read is under way at a time. The package makes no requests itself; it asks
// its [Source].
package screen

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// Source reads locks and acts on them.
type Source interface {
	List(ctx context.Context, root string) (*view.List, error)
	Queue(ctx context.Context, lock string) (*view.Queue, error)
	Revoke(ctx context.Context, n *view.Node) error
	Break(ctx context.Context, n *view.Node) error // that node, unchanged, and no other
}

// Screen is the state of the view. [New] makes one. It is bubbletea's model.
type Screen struct {
	ctx      context.Context
	source   Source
	root     string
	interval time.Duration
	style    *table.Style

	width, height int
	list          *view.List  // nil before the first read
	queue         *view.Queue // of the open lock, nil before its first read
	open          string      // the path of the open lock; "": the list is shown
	fresh         int         // counts the reads that were begun, so that an old one is dropped
	locks, nodes  cursor
	ask           *question // nil: nothing is asked
	message       string    // about the last thing done
	failed        bool      // the message is about a failure
	trouble       string    // why the last read failed; "": it did not
}

// New returns the view of the locks at root and below it.
func New(ctx context.Context, source Source, root string, interval time.Duration, style *table.Style) *Screen {
	return &Screen{ctx: ctx, source: source, root: root, interval: interval, style: style, width: 80, height: 24}
}

// Messages of the view.
type (
	readList struct {
		fresh int
		list  *view.List
		err   error
	}
	readQueue struct {
		fresh int
		queue *view.Queue
		err   error
	}
	readAgain struct{ fresh int }
	acted     struct {
		did string
		err error
	}
)

// Init begins the first read.
func (s *Screen) Init() tea.Cmd { return s.read() }

// read begins a read of what is shown. Reads that were begun before count no more.
func (s *Screen) read() tea.Cmd {
	s.fresh++
	fresh, lock := s.fresh, s.open
	if lock == "" {
		return func() tea.Msg {
			list, err := s.source.List(s.ctx, s.root)
			return readList{fresh, list, err}
		}
	}
	return func() tea.Msg {
		queue, err := s.source.Queue(s.ctx, lock)
		return readQueue{fresh, queue, err}
	}
}

// later begins a read when the interval is over.
func (s *Screen) later() tea.Cmd {
	fresh := s.fresh
	return tea.Tick(s.interval, func(time.Time) tea.Msg { return readAgain{fresh} })
}

// Update takes in what has happened.
func (s *Screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return s, s.key(msg)
	case readList:
		if msg.fresh == s.fresh {
			return s, s.gotList(msg)
		}
	case readQueue:
		if msg.fresh == s.fresh {
			if s.succeeds(msg.err) {
				s.queue = msg.queue
				s.nodes.follow(len(s.queue.Nodes), func(i int) string { return s.queue.Nodes[i].Node })
			}
			return s, s.later()
		}
	case readAgain:
		if msg.fresh == s.fresh {
			return s, s.read()
		}
	case acted:
		s.message, s.failed = msg.did, false
		if msg.err != nil {
			s.message, s.failed = msg.err.Error(), true
		}
		return s, s.read()
	}
	return s, nil
}

// gotList takes in a list. If the root is itself the only lock, it is opened.
func (s *Screen) gotList(msg readList) tea.Cmd {
	first := s.list == nil
	if !s.succeeds(msg.err) {
		return s.later()
	}
	s.list = msg.list
	s.locks.follow(len(s.list.Locks), func(i int) string { return s.list.Locks[i].Path })
	if first && len(s.list.Locks) == 1 && len(s.list.Refused) == 0 && s.list.Locks[0].Path == s.root {
		return s.enter(s.root)
	}
	return s.later()
}

// enter opens a lock.
func (s *Screen) enter(lock string) tea.Cmd {
	s.open, s.queue, s.nodes = lock, nil, cursor{}
	return s.read()
}

// leave goes back to the list.
func (s *Screen) leave() tea.Cmd {
	s.open, s.queue = "", nil
	return s.read()
}

// succeeds reports whether a read has done so, and notes why if it has not.
func (s *Screen) succeeds(err error) bool {
	s.trouble = ""
	if err != nil {
		s.trouble = err.Error()
	}
	return err == nil
}
