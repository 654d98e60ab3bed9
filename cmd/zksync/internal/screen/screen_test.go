package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// store is a source without a server.
type store struct {
	queues  []zksync.Queue
	refused []string
	err     error
	did     []string
}

func (s *store) List(_ context.Context, root string) (*view.List, error) {
	l := view.NewList(root, time.Unix(1000, 0))
	l.Refused = s.refused
	for i := range s.queues {
		l.Locks = append(l.Locks, view.NewLock(&s.queues[i]))
	}
	return l, s.err
}

func (s *store) Queue(_ context.Context, lock string) (*view.Queue, error) {
	for i := range s.queues {
		if s.queues[i].Path == lock {
			v := view.NewQueue(&s.queues[i], time.Unix(1000, 0))
			return &v, s.err
		}
	}
	return &view.Queue{Path: lock, At: time.Unix(1000, 0)}, s.err
}

func (s *store) Revoke(_ context.Context, n *view.Node) error {
	s.did = append(s.did, "revoke "+n.Name)
	return s.err
}

func (s *store) Break(_ context.Context, n *view.Node) error {
	s.did = append(s.did, "break "+n.Name)
	return s.err
}

// queue returns a queue of n nodes whose first held ones hold.
func queue(path string, held, n int) zksync.Queue {
	q := zksync.Queue{Path: path}
	for i := range n {
		node := zksync.LockNode{
			Node: fmt.Sprintf("%s/lock-%010d", path, i), Mode: zksync.ModeMutex, Held: i < held, Identity: fmt.Sprint("worker-", i), Since: time.Unix(1, 0), Session: 7,
		}
		if i >= held && i > 0 {
			node.BlockedBy = q.Nodes[i-1].Node
		}
		q.Nodes = append(q.Nodes, node)
	}
	return q
}

// user drives a screen as the program would, but does not wait between two reads.
type user struct {
	*Screen
	t *testing.T
}

func newUser(t *testing.T, s *store) user {
	u := user{New(t.Context(), s, "/", time.Millisecond, table.NewStyle(io.Discard)), t}
	u.run(u.Init())
	return u
}

// run runs a command and what follows, but no further read.
func (u user) run(cmd tea.Cmd) {
	for cmd != nil {
		msg := cmd()
		if _, again := msg.(readAgain); again {
			return
		}
		_, cmd = u.Update(msg)
	}
}

// keys presses keys.
func (u user) keys(keys ...string) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "backspace": tea.KeyBackspace, "end": tea.KeyEnd, "pgup": tea.KeyPgUp}
	for _, k := range keys {
		press := tea.KeyPressMsg{Code: codes[k]}
		if press.Code == 0 {
			press = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		_, cmd := u.Update(press)
		u.run(cmd)
	}
}

func (u user) wants(texts ...string) {
	u.t.Helper()
	for _, want := range texts {
		if !strings.Contains(u.draw(), want) {
			u.t.Errorf("no %q on\n%s", want, u.draw())
		}
	}
}

func TestScreenFits(t *testing.T) {
	s := &store{}
	for i := range 100 {
		s.queues = append(s.queues, queue(fmt.Sprintf("/lock-%03d", i), 1, 3))
	}
	s.queues[99] = queue("/long", 1, 200)
	u := newUser(t, s)
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 20, Height: 6}, {Width: 200, Height: 60}, {Width: 1, Height: 1}, {Width: 3, Height: 3}} {
		u.Update(size)
		for _, open := range []bool{false, true} {
			if open {
				u.keys("end", "enter", "end")
			}
			lines := strings.Split(u.draw(), "\n")
			if len(lines) != size.Height {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, l := range lines {
				if n := len([]rune(l)); n > size.Width {
					t.Errorf("%v: a line of %d: %q", size, n, l)
				}
			}
		}
		if size.Height > 20 {
			u.wants("> 200        199", "worker-199")
		}
		u.keys("esc")
	}
	if !u.View().AltScreen {
		t.Error("it does not take the whole screen")
	}
}

// The cursor stays with its line when others come and go.
func TestCursorFollows(t *testing.T) {
	s := &store{queues: []zksync.Queue{queue("/b", 1, 1), queue("/c", 1, 1)}}
	u := newUser(t, s)
	u.keys("down")
	s.queues = append([]zksync.Queue{queue("/a", 1, 1)}, s.queues...)
	u.run(u.read())
	if at := u.locks; at.at != 2 || at.key != "/c" {
		t.Errorf("%+v", at)
	}
	s.queues = s.queues[:1]
	u.run(u.read())
	if at := u.locks; at.at != 0 || at.key != "/a" {
		t.Errorf("%+v", at)
	}
	s.queues = nil
	u.run(u.read())
	u.wants("nobody holds a lock here")
	u.keys("r", "b", "enter", "down") // there is nothing to act on
	if u.ask != nil || u.open != "" {
		t.Error("something is asked about nothing")
	}
}

func TestQuestions(t *testing.T) {
	s := &store{queues: []zksync.Queue{queue("/a", 1, 2), queue("/shared", 2, 2)}}
	u := newUser(t, s)
	u.keys("b", "w", "esc")
	u.wants("nothing was done")
	u.keys("b", "x", "enter")
	u.wants("nothing was done: that is not worker-0")
	if len(s.did) != 0 {
		t.Fatal(s.did)
	}
	u.keys("b")
	u.wants("Type worker-0 and press enter, or press esc: ")
	u.keys("w", "x", "backspace", "orker-0")
	s.queues[0].Nodes[0].Node = "/a/lock-0000000009" // what was asked about is what counts
	u.run(u.read())
	u.keys("enter")
	u.wants("worker-0 has lost its node")
	u.keys("r", "yes", "enter")
	u.wants("asked worker-0")
	s.err = errors.New("refused \x1b[31m")
	u.keys("r", "yes", "enter")
	u.wants(`refused \x1b[31m`)
	s.err = nil
	if got := strings.Join(s.did, ", "); got != "break lock-0000000000, revoke lock-0000000009, revoke lock-0000000009" {
		t.Error(got)
	}
	u.keys("down", "b")
	u.wants("2 hold it together: press enter and choose one")
	u.keys("enter", "down", "b")
	u.wants("Delete the node of worker-1")
}

// A read that fails is shown, and the next one takes place. An answer to a question about
// what is not shown any more is dropped.
func TestReads(t *testing.T) {
	s := &store{err: errors.New("no permission")}
	u := newUser(t, s)
	u.wants("reading ...", "no permission")
	s.err, s.queues = nil, []zksync.Queue{queue("/", 1, 1)}
	u.run(u.read())
	u.wants("/: mutex, 1 holds, 0 wait") // the only lock is opened
	late := u.read()
	u.keys("esc")
	u.run(late)
	u.wants("locks below /: 1 lock, 0 waiters")
	u.keys("enter")
	s.err = errors.New("no permission")
	u.run(u.read())
	u.wants("no permission", "worker-0")
	s.err, s.queues = nil, nil
	u.run(u.read())
	u.wants("nobody is in line: the lock is free")
	if strings.Contains(u.draw(), "no permission") {
		t.Errorf("a failure is shown after a read that succeeded:\n%s", u.draw())
	}
}

// A list says what it lacks.
func TestRefused(t *testing.T) {
	const missing = "the locks below these are missing, no permission to list them: /secret, \"/\\x1b\""
	s := &store{queues: []zksync.Queue{queue("/", 1, 1)}, refused: []string{"/secret", "/\x1b"}}
	u := newUser(t, s)
	u.Update(tea.WindowSizeMsg{Width: 120, Height: 10})
	u.wants("locks below /: 1 lock", missing)
	for i := range 20 {
		s.queues = append(s.queues, queue(fmt.Sprint("/", i), 1, 1))
	}
	u.run(u.read())
	u.wants("21 locks", missing)
	s.queues = nil
	u.run(u.read())
	u.wants("nobody holds a lock here", missing)
}
