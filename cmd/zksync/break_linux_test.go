package main

import (
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync"
)

// asks starts "zksync break" on a terminal, and returns when it has asked.
func asks(t *testing.T, z *site, lock string) (*proctest.Process, *proctest.Console) {
	t.Helper()
	p := z.command(t, "break", lock)
	p.Env = append(p.Env, "TERM=xterm")
	c := proctest.OnConsole(t, p, false)
	proctest.Eventually(t, "the question", func() bool { return strings.HasSuffix(c.Out.String(), " to delete its node: ") })
	return p, c
}

func TestBreakAsks(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("nightly"))
		h := hold(t, zksync.NewMutex(s, lock))

		p, c := asks(t, z, lock)
		for _, want := range []string{"nightly on ", " holds ", "It came since 20", "its node is " + h.Node()[len(lock)+1:], "may go on as if it had the lock", "Type nightly to delete"} {
			if !strings.Contains(c.Out.String(), want) {
				t.Errorf("%q is not in %s", want, c.Out.String())
			}
		}
		c.Type(t, "yes\n")
		p.WantCode(exit.Conflict)
		c.Out.Await(t, "zksync: nothing was deleted: that is not nightly")

		p, c = asks(t, z, lock)
		c.Type(t, proctest.CtrlC)
		p.WantCode(exit.Signal + int(interrupt))
		p, c = asks(t, z, lock)
		c.Type(t, "\x04") // the end of the input
		p.WantCode(exit.Conflict)
		if h.Err() != nil {
			t.Fatal(h.Err())
		}

		p, c = asks(t, z, lock)
		c.Type(t, "nightly\n")
		p.WantCode(0)
		c.Out.Await(t, "broken: nightly on ")
		c.Out.Await(t, "nobody waits: ")
	})
}

// If the lock has changed hands before the answer, nothing is deleted.
func TestBreakNoticesAChange(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("nightly"))
		for _, meanwhile := range []string{"given back", "asked back"} {
			h := hold(t, zksync.NewMutex(s, lock))
			waits := make(chan *zksync.Hold, 1)
			go func() {
				next, err := zksync.NewMutex(z.dial(t, zksync.WithIdentity("nightly")), lock).Hold(t.Context())
				if err != nil {
					t.Error(err)
				}
				waits <- next
			}()
			z.inLine(t, s, lock, 2)
			p, c := asks(t, z, lock)
			if meanwhile == "given back" {
				if err := h.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Revoke(t.Context(), h.Node()); err != nil {
				t.Fatal(err)
			}
			c.Type(t, "nightly\n")
			p.WantCode(exit.Conflict)
			c.Out.Await(t, "zksync: nothing was deleted: ")
			_ = h.Release(t.Context())
			if next := <-waits; next.Err() != nil || next.Release(t.Context()) != nil {
				t.Errorf("%s: the next holder has lost the lock", meanwhile)
			}
		}
	})
}

// On a terminal there are colours, but not with NO_COLOR. A list that takes long says how
// far it is.
func TestColours(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock := lockPath(t)
		hold(t, zksync.NewMutex(z.dial(t), lock))
		for env, want := range map[string]bool{"TERM=xterm": true, "NO_COLOR=1": false, "TERM=dumb": false} {
			p := z.command(t, "show", lock)
			p.Env = append(p.Env, "TERM=xterm", "NO_COLOR=", env)
			c := proctest.OnConsole(t, p, false)
			p.WantCode(0)
			c.Out.Await(t, "session 0x")
			if got := strings.Contains(c.Out.String(), "\x1b["); got != want {
				t.Errorf("%s: colours %v, want %v: %q", env, got, want, c.Out.String())
			}
		}
	})
}
