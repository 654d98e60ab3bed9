//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestRevoke(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("holder"))
		_, stderr := z.says(t, exit.Conflict, "revoke", lock)
		if !strings.Contains(stderr, "nobody is in line for ") {
			t.Errorf("stderr %q", stderr)
		}

		h := hold(t, zksync.NewMutex(s, lock))
		_, stderr = z.says(t, exit.Conflict, "revoke", "--wait", "0.3", lock)
		if !strings.Contains(stderr, "holder on ") || !strings.Contains(stderr, " still has ") {
			t.Errorf("stderr %q", stderr)
		}
		select {
		case <-h.Revoked():
		case <-time.After(proctest.Limit):
			t.Fatal("the holder was not asked")
		}
		out, _ := z.says(t, 0, "revoke", "-o", "json", lock) // again
		var v view.Revoked
		document(t, "revoked", out, &v)
		if len(v.Asked) != 1 || v.Asked[0].Identity != "holder" || v.Waited || v.Returned {
			t.Errorf("%+v", v)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}

		// Two readers, both asked, and both give it back.
		rw := zksync.NewRWMutex(s, lock)
		for range 2 {
			h := hold(t, rw.RLocker())
			go func() {
				<-h.Revoked()
				_ = h.Release(context.Background())
			}()
		}
		out, _ = z.says(t, 0, "revoke", "--wait", "20", lock)
		if strings.Count(out, "asked holder on ") != 2 || !strings.HasSuffix(out, "given back\n") {
			t.Errorf("stdout %q", out)
		}
		_, stderr = z.says(t, exit.Conflict, "revoke", "--node", "nobody", lock)
		if !strings.Contains(stderr, "no node nobody in line for ") {
			t.Errorf("stderr %q", stderr)
		}
	})
}

func TestBreak(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t, zksync.WithIdentity("holder"))
		_, stderr := z.says(t, exit.Conflict, "break", "--yes", lock)
		if !strings.Contains(stderr, "nobody is in line for ") {
			t.Errorf("stderr %q", stderr)
		}
		h := hold(t, zksync.NewMutex(s, lock))
		_, stderr = z.says(t, exit.Usage, "break", lock)
		if !strings.Contains(stderr, "stdin is not a terminal: give --yes") || h.Err() != nil {
			t.Errorf("stderr %q, and the holder: %v", stderr, h.Err())
		}
		waits := wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("second")), lock))
		z.inLine(t, s, lock, 2)
		third := wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("third")), lock))
		q := z.inLine(t, s, lock, 3)

		out, stderr := z.says(t, 0, "break", "--yes", "--node", q.Nodes[2].Node, lock) // a waiter's
		if !strings.HasPrefix(out, "broken: third on ") || !strings.Contains(out, "\nnext: holder on ") || stderr != "" {
			t.Errorf("stdout %q, stderr %q", out, stderr)
		}
		if h.Err() != nil {
			t.Fatal(h.Err())
		}
		out, _ = z.says(t, 0, "break", "-y", "-o", "json", lock)
		var v view.Broken
		document(t, "broken", out, &v)
		if v.Broken.Node != h.Node() || v.Next == nil || v.Next.Identity != "second" {
			t.Errorf("%+v", v)
		}
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		select {
		case <-h.Context(t.Context()).Done():
		case <-time.After(proctest.Limit):
			t.Error("the holder has not noticed")
		}
		// The third stands in line again.
		z.inLine(t, s, lock, 2)
		z.says(t, 0, "break", "-y", lock)
		if err := <-third; err != nil {
			t.Fatal(err)
		}
		out, _ = z.says(t, 0, "break", "-y", "-o", "json", lock)
		v = view.Broken{}
		document(t, "broken", out, &v)
		if v.Broken.Identity != "third" || v.Next != nil {
			t.Errorf("%+v", v)
		}
	})
}

// Of several holders the user has to name one.
func TestBreakOneOfMany(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock := lockPath(t)
		first := hold(t, zksync.NewRWMutex(z.dial(t, zksync.WithIdentity("one")), lock).RLocker())
		second := hold(t, zksync.NewRWMutex(z.dial(t, zksync.WithIdentity("two")), lock).RLocker())
		_, stderr := z.says(t, exit.Usage, "break", "--yes", lock)
		for _, want := range []string{"2 hold ", "name one of them with --node\n", first.Node()[len(lock)+1:] + "  one on ", second.Node()[len(lock)+1:] + "  two on "} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q is not in %q", want, stderr)
			}
		}
		z.says(t, 0, "break", "--yes", "--node", second.Node()[len(lock)+1:], lock)
		q := z.inLine(t, z.dial(t), lock, 1)
		if q.Nodes[0].Node != first.Node() {
			t.Errorf("left is %s, want %s", q.Nodes[0].Node, first.Node())
		}
	})
}

// A second node of the same call is no next holder.
func TestBreakKazoosSecondNode(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock := lockPath(t)
		hold(t, zksync.NewMutex(z.dial(t), lock, zksync.WithKazooName()))
		waits := wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("next")), lock))
		z.inLine(t, z.dial(t), lock, 3)
		out, _ := z.says(t, 0, "break", "--yes", lock)
		if !strings.Contains(out, "\nnext: next on ") {
			t.Errorf("stdout %q", out)
		}
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
	})
}

// What stands at the node's path when it is deleted has to be what was shown: a node
// that was made anew, or written to, stays.
func TestDeleteShown(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, c := lockPath(t), clientOf(t, z)
		node := lock + "/lock-0000000000"
		make := func() *view.Node {
			for _, p := range []string{"/test", lock, node} {
				if _, err := c.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
					t.Fatal(err)
				}
			}
			q, err := z.dial(t).Inspect(t.Context(), lock)
			if err != nil {
				t.Fatal(err)
			}
			n := view.NewNode(&q.Nodes[0])
			return &n
		}
		for name, meanwhile := range map[string]func(shown *view.Node) error{
			"made anew": func(*view.Node) error {
				if err := c.Delete(node, -1); err != nil {
					return err
				}
				if err := c.Delete(lock, -1); err != nil { // so that the number comes again
					return err
				}
				make()
				return nil
			},
			"written to": func(*view.Node) error { _, err := c.Set(node, []byte("x"), -1); return err },
			"gone":       func(*view.Node) error { return c.Delete(node, -1) },
			"not read":   func(shown *view.Node) error { *shown = view.Node{Node: node, Name: "lock-0000000000"}; return nil },
		} {
			shown := make()
			o := &operator{session: z.dial(t)}
			if err := meanwhile(shown); err != nil {
				t.Fatal(err)
			}
			want := exit.Conflict
			if name == "not read" {
				want = exit.NoPermission
			}
			var e *exit.Error
			if err := o.deleteShown(t.Context(), shown); !errors.As(err, &e) || e.Code != want || !strings.HasPrefix(e.Error(), "nothing was deleted: ") {
				t.Errorf("%s: %v", name, err)
			}
			if there, _, err := c.Exists(node); there != (name != "gone") || err != nil {
				t.Errorf("%s: the node exists: %v, %v", name, there, err)
			}
		}
		o := &operator{session: z.dial(t)}
		if err := o.deleteShown(t.Context(), make()); err != nil {
			t.Error(err)
		}
		if there, _, _ := c.Exists(node); there {
			t.Error("the node exists")
		}
	})
}

// The server deletes a node, and its answer is lost: the node is deleted, and the command
// says so.
func TestBreakLosesTheAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		proxy, err := ensemble.NewProxy(z.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		lock := lockPath(t)
		hold(t, zksync.NewMutex(z.dial(t), lock))
		lost := false
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer && f.Op == "delete" && !lost {
				lost = true
				return ensemble.DropAndDisconnect
			}
			return ensemble.Pass
		})
		p := commandOn(t, proxy.Addr(), "break", "--yes", lock).Start()
		p.WantCode(0)
		p.Out.Await(t, "broken: ")
		p.Out.Await(t, "is free")
		proxy.SetHook(nil)
	})
}

func TestBreakRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, c := lockPath(t), clientOf(t, z)
		h := hold(t, zksync.NewMutex(z.dial(t), lock))
		// To delete a node is a right on its parent.
		if _, err := c.SetACL(lock, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1); err != nil {
			t.Fatal(err)
		}
		_, stderr := z.says(t, exit.NoPermission, "break", "--yes", lock)
		if !strings.Contains(stderr, "nothing was deleted: no permission to delete ") {
			t.Errorf("stderr %q", stderr)
		}
		if h.Err() != nil {
			t.Error(h.Err())
		}
		if _, err := c.SetACL(lock, zk.WorldACL(zk.PermAll), -1); err != nil {
			t.Fatal(err)
		}
	})
}
