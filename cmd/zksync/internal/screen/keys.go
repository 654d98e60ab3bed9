package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// question is something that the user has to confirm.
type question struct {
	text  string
	risk  string // of a yes; may be empty
	word  string // to be typed
	typed string
	act   tea.Cmd
}

// key takes in a key.
func (s *Screen) key(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "ctrl+c":
		return tea.Interrupt
	case "ctrl+z":
		return tea.Suspend
	}
	if s.ask != nil {
		return s.answer(k)
	}
	s.message, s.trouble = "", ""
	switch k.String() {
	case "q":
		return tea.Quit
	case "esc", "backspace", "left", "h":
		if s.open != "" {
			return s.leave()
		}
	case "enter", "right", "l":
		if s.open == "" && s.list != nil && len(s.list.Locks) > 0 {
			return s.enter(s.list.Locks[s.locks.at].Path)
		}
	case "r":
		s.question("revoke")
	case "b":
		s.question("break")
	default:
		s.move(k.String())
	}
	return nil
}

// move moves the cursor.
func (s *Screen) move(key string) {
	by := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -s.height / 2, "pgdown": s.height / 2, "home": -1 << 30, "g": -1 << 30, "end": 1 << 30, "G": 1 << 30,
	}[key]
	switch {
	case by == 0:
	case s.open == "" && s.list != nil:
		s.locks.move(by, len(s.list.Locks), func(i int) string { return s.list.Locks[i].Path })
	case s.open != "" && s.queue != nil:
		s.nodes.move(by, len(s.queue.Nodes), func(i int) string { return s.queue.Nodes[i].Node })
	}
}

// selected returns the node that the cursor is at, and its lock: in the list the holder.
func (s *Screen) selected() (n *view.Node, lock string) {
	switch {
	case s.open != "" && s.queue != nil && len(s.queue.Nodes) > 0:
		return &s.queue.Nodes[s.nodes.at], s.open
	case s.open == "" && s.list != nil && len(s.list.Locks) > 0:
		l := &s.list.Locks[s.locks.at]
		if l.Holders > 1 {
			s.message, s.failed = fmt.Sprintf("%d hold it together: press enter and choose one", l.Holders), true
			return nil, ""
		}
		return l.Holder, l.Path
	}
	return nil, ""
}

// question asks whether to revoke or break the selected node.
func (s *Screen) question(verb string) {
	n, lock := s.selected()
	if n == nil {
		return
	}
	shown := *n // what is read later changes nothing
	q := &question{word: "yes"}
	if verb == "revoke" {
		q.text = fmt.Sprintf("Ask %s to give back %s?", shown.Who(), text.Name(lock))
		q.act = s.do("asked "+shown.Who(), func() error { return s.source.Revoke(s.ctx, &shown) })
	} else {
		q.word = shown.Word()
		q.text = fmt.Sprintf("Delete the node of %s in %s?", shown.Who(), text.Name(lock))
		q.risk = "If its program still runs, it may go on as if it had the lock."
		q.act = s.do(shown.Who()+" has lost its node", func() error { return s.source.Break(s.ctx, &shown) })
	}
	s.ask = q
}

// do returns a command that acts and says what was done.
func (s *Screen) do(did string, act func() error) tea.Cmd {
	return func() tea.Msg { return acted{did, act()} }
}

// answer takes in a key of the answer to a question.
func (s *Screen) answer(k tea.KeyPressMsg) tea.Cmd {
	q := s.ask
	switch k.String() {
	case "esc":
		s.ask, s.message, s.failed = nil, "nothing was done", false
	case "enter":
		s.ask = nil
		if strings.TrimSpace(q.typed) == q.word {
			s.message, s.failed = "...", false
			return q.act
		}
		s.message, s.failed = "nothing was done: that is not "+q.word, true
	case "backspace":
		if all := []rune(q.typed); len(all) > 0 {
			q.typed = string(all[:len(all)-1])
		}
	default:
		q.typed += k.Text
	}
	return nil
}
