//go:build unix

package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

const (
	keyDown  = "\x1b[B"
	keyEsc   = "\x1b"
	keyEnter = "\r"
)

func TestWatchScreen(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root, s := lockPath(t), z.dial(t, zksync.WithIdentity("nightly"))
		h := hold(t, zksync.NewMutex(s, root+"/busy"))
		waits := wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("second")), root+"/busy"))
		z.inLine(t, s, root+"/busy", 2)
		hold(t, zksync.NewMutex(s, root+"/quiet"))

		term := onScreen(t, z.command(t, "watch", "--interval", "0.2", root))
		term.shows(t, "locks below "+root+": 2 locks, 1 waiter", ">       1", root+"/busy ", root+"/quiet ", "q quit")
		hold(t, zksync.NewMutex(s, root+"/third"))
		term.shows(t, ": 3 locks", root+"/third ")
		term.press(t, keyDown)
		term.shows(t, ">       0")
		term.press(t, "k"+keyEnter)
		term.shows(t, "/busy: mutex, 1 holds, 1 waits", "> 1      holds", "nightly on ", "second on ", "node "+h.Node()[len(root+"/busy/"):], "esc back")

		term.press(t, "r")
		term.shows(t, "Ask nightly on ", "to give back", "Type yes and press enter")
		term.press(t, "no"+keyEnter)
		term.shows(t, "nothing was done: that is not yes")
		term.press(t, "r")
		term.shows(t, "Type yes and press enter")
		term.press(t, "yes"+keyEnter)
		term.shows(t, "asked nightly on ", "asked to give the lock back")
		<-h.Revoked()

		term.press(t, "b")
		term.shows(t, "Delete the node of nightly on ", "Type nightly and press enter")
		term.press(t, keyEsc)
		term.shows(t, "nothing was done")
		if h.Err() != nil {
			t.Fatal(h.Err())
		}
		term.press(t, "b")
		term.shows(t, "Type nightly and press enter")
		term.press(t, "nightly"+keyEnter)
		term.shows(t, "has lost its node", "/busy: mutex, 1 holds, 0 wait", "second on ")
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		term.resize(t, 60, 12)
		term.press(t, keyEsc)
		term.shows(t, "3 locks, 0 waiters")
		term.press(t, "q")
		term.wantCode(t, 0)
	})
}

// The node that was on the screen when the question was asked is deleted, and no other.
func TestWatchBreaksWhatItHasShown(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("nightly"))
		h := hold(t, zksync.NewMutex(s, lock))
		term := onScreen(t, z.command(t, "watch", "--interval", "0.2", lock))
		term.shows(t, "mutex, 1 holds, 0 wait", "node "+h.Node()[len(lock)+1:]) // the only lock is opened
		term.press(t, "b")
		term.shows(t, "Type nightly and press enter")
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		h = hold(t, zksync.NewMutex(s, lock))
		term.shows(t, "node "+h.Node()[len(lock)+1:])
		term.press(t, "nightly"+keyEnter)
		term.shows(t, "nothing was deleted: nightly on ")
		if h.Err() != nil {
			t.Error(h.Err())
		}
		term.press(t, proctest.CtrlC)
		term.wantCode(t, exit.Signal+int(syscall.SIGINT))
	})
}

// The terminal is as it was before, whatever ends the screen.
func TestWatchScreenEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		proxy, err := ensemble.NewProxy(z.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		term := onScreen(t, commandOn(t, proxy.Addr(), "watch", "--connect-timeout", "5", lockPath(t)))
		term.shows(t, "nobody holds a lock here or waits for one")
		if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		term.wantCode(t, exit.Signal+int(syscall.SIGTERM))

		term = onScreen(t, commandOn(t, proxy.Addr(), "watch", "--connect-timeout", "5", lockPath(t)))
		term.shows(t, "nobody holds a lock here or waits for one")
		proxy.Refuse()
		proxy.DisconnectAll()
		term.wantCode(t, exit.Unavailable)
		term.shows(t, "zksync: contact with ZooKeeper was lost, and did not come back within 5s")
	})
}

// Without a terminal there is a line for each event.
func TestWatchEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("nightly"))
		h := hold(t, zksync.NewMutex(s, lock))
		lines := z.command(t, "watch", "--interval", "0.1", lock).Start()
		docs := z.command(t, "watch", "--interval", "0.1", "-o", "json", lock).Start()
		lines.Out.Await(t, ") holds (0 waiters)")
		docs.Out.Await(t, `"event":"holds"`)
		waits := wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("second")), lock))
		lines.Out.Await(t, ") waits (1 waiter)")
		docs.Out.Await(t, `"event":"waits"`)
		if err := s.Revoke(t.Context(), h.Node()); err != nil {
			t.Fatal(err)
		}
		lines.Out.Await(t, ") is asked to give it back (1 waiter)")
		docs.Out.Await(t, `"event":"revoked"`)
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines.Out.Await(t, ") has left (0 waiters)")
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		proctest.Eventually(t, "the next holder", func() bool {
			return strings.Count(lines.Out.String(), ") holds (0 waiters)") == 2 && strings.Count(docs.Out.String(), `"event":"holds"`) == 2
		})
		for _, p := range []*proctest.Process{lines, docs} {
			p.Signal(syscall.SIGINT)
			p.WantCode(exit.Signal + int(syscall.SIGINT))
		}
		var got []string
		for line := range strings.Lines(docs.Out.String()) {
			var e view.Event
			document(t, "event", line, &e)
			got = append(got, fmt.Sprintf("%s %s %d", e.Event, e.Node.Identity, e.Waiters))
		}
		want := "holds nightly 0, waits second 1, revoked nightly 1, left nightly 0, holds second 0"
		if strings.Join(got, ", ") != want {
			t.Errorf("%s, want %s", strings.Join(got, ", "), want)
		}
		if strings.Count(lines.Out.String(), "\n") != len(got) || !strings.Contains(lines.Out.String(), " "+lock+": nightly on ") {
			t.Errorf("%s", lines.Out.String())
		}
	})
}
