package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

var ownName = regexp.MustCompile(`^_c_([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})-lock-[0-9]{10}$`)

// Each attempt has a GUID of its own: of each lock, and again after the node of
// one was deleted.
func TestLesson4_FreshGUID(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		c := z.raw(t)
		m := zksync.NewMutex(s, p)
		seen := make(map[string]bool)
		note := func(node string) {
			t.Helper()
			parts := ownName.FindStringSubmatch(path.Base(node))
			if parts == nil || seen[parts[1]] {
				t.Errorf("%s is no name of ours, or had its GUID before", node)
				return
			}
			seen[parts[1]] = true
		}
		for range 3 {
			h, err := m.Hold(short(t))
			ok(t, err)
			note(h.Node())
			ok(t, h.Release(short(t)))
		}
		blocker, err := zksync.NewMutex(z.dial(t), p).Hold(short(t))
		ok(t, err)
		note(blocker.Node())
		got := async(func() *zksync.Hold { h, _ := m.Hold(short(t)); return h })
		for range 2 { // the one attempt's nodes
			lineOf(t, c, p, 2)
			for _, n := range children(t, c, p) {
				if n != path.Base(blocker.Node()) {
					note(n)
					ok(t, c.Delete(p+"/"+n, -1))
				}
			}
		}
		lineOf(t, c, p, 2)
		ok(t, blocker.Release(short(t)))
		h := get(t, got)
		note(h.Node())
		ok(t, h.Release(short(t)))
	})
}

// A call that is cancelled during its create returns at once; the node that
// comes late has an owner who deletes it.
func TestLesson5_CancelledDuringCreate(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p := z.proxied(t)
		s := dialTo(t, []string{p.Addr()})
		lp := lockPath(t)
		m := zksync.NewMutex(s, lp)
		free(t, m)
		for _, call := range calls {
			seen, answer := make(chan struct{}), make(chan struct{})
			var once sync.Once
			p.SetHook(func(f zktest.Frame) zktest.Action {
				if f.FromServer && f.Op == "create" {
					once.Do(func() { close(seen) })
					<-answer
				}
				return zktest.Pass
			})
			ctx, cancel := context.WithCancelCause(context.Background())
			result := async(func() error { _, err := call.take(ctx, m); return err })
			get(t, seen)
			cancel(errCause)
			isError(t, get(t, result), context.Canceled, errCause) // the answer is still held back
			if n := len(children(t, z.raw(t), lp)); n != 1 {
				t.Errorf("%s: %d nodes on the server", call.name, n)
			}
			if s.Stats().CleanupPending != 1 {
				t.Errorf("%s: nobody answers for the node", call.name)
			}
			close(answer)
			p.SetHook(nil)
			atRest(t, s)
			lineOf(t, z.raw(t), lp, 0)
			free(t, m)
		}
	})
}

// The caller's ctx is over: the clean-up does not use it.
func TestLesson6_CleanUpOnItsOwnTime(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		blocker := zksync.NewMutex(z.dial(t), p)
		s := z.dial(t)
		m := zksync.NewMutex(s, p)
		blocker.Lock()
		for _, call := range calls {
			if call.try {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			result := async(func() error { _, err := call.take(ctx, m); return err })
			lineOf(t, c, p, 2)
			cancel()
			isError(t, get(t, result), context.Canceled)
			lineOf(t, c, p, 1)
		}
		blocker.Unlock()
		// And so does the release of a lock that was held.
		h, err := m.Hold(short(t))
		ok(t, err)
		h.Release(done())
		lineOf(t, c, p, 0)
		free(t, blocker)
	})
}

// A listing that fails, and a child that does not parse, leave no node.
func TestLesson7_ErrorAfterCreate(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		ok(t, c.AddAuth("digest", []byte("admin:secret")))
		p := lockPath(t)
		made(t, c, path.Dir(p))
		acl := append(zk.DigestACL(zk.PermAll, "admin", "secret"), zk.WorldACL(zk.PermCreate|zk.PermDelete)...)
		_, err := c.Create(p, nil, 0, acl) // nobody else may list it
		ok(t, err)
		_, err = c.Create(p+"/lock-x", nil, 0, zk.WorldACL(zk.PermAll))
		ok(t, err)
		s := z.dial(t)
		for range 3 {
			isError(t, zksync.NewMutex(s, p).LockContext(short(t)), zk.ErrNoAuth)
			atRest(t, s)
			lineOf(t, c, p, 1)
		}
	})
}

// The parent vanishes between making it and using it, again and again.
func TestLesson8_ParentVanishes(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()})
		base := lockPath(t)
		p := base + "/deep/down"
		var vanished atomic.Int32
		proxy.SetHook(func(f zktest.Frame) zktest.Action {
			if f.FromServer && f.Op == "createContainer" && f.Err == 0 && vanished.Load() < 6 {
				for _, dir := range []string{p, path.Dir(p), base} { // as the reaper of containers does
					if c.Delete(dir, -1) == nil {
						vanished.Add(1)
					}
				}
			}
			return zktest.Pass
		})
		m := zksync.NewMutex(s, p)
		h, err := m.Hold(short(t))
		ok(t, err)
		if vanished.Load() < 6 {
			t.Errorf("only %d parents vanished", vanished.Load())
		}
		ok(t, h.Release(short(t)))
		// Deleted while nobody holds, it comes again; and the ctx bounds it.
		vanished.Store(-1 << 30)
		ok(t, c.Delete(p, -1))
		ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout/8)
		defer cancel()
		isError(t, m.LockContext(ctx), context.DeadlineExceeded)
		proxy.SetHook(nil)
		free(t, m)
		atRest(t, s)
	})
}

var foreign = []string{
	"config", "0", "1", "_c_x", "_c_", "_c_1234567890", "lock-", "lock-abc", "lock-1", "lock--1", "x", "-", "__lock__",
	"_c_00000000-0000-0000-0000-000000000000-lock-", "_c_00000000-0000-0000-0000-000000000000", "lock-99999999999", "lock-+000000001",
	"_c_00000000000000000000000000000000-", "lease-0000000000", "0000000000", "ünïcode", "lock-0000000000x", "permit-1of1", "read-0000000000",
}

// Children that are no lock nodes neither hang nor fail a lock, and are let be.
func TestLesson9_ForeignChildren(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		p := lockPath(t)
		made(t, c, p)
		for _, name := range foreign {
			_, err := c.Create(p+"/"+name, []byte("data"), 0, zk.WorldACL(zk.PermAll))
			ok(t, err)
		}
		s := z.dial(t)
		nested := zksync.NewMutex(s, p+"/nested")
		nested.Lock() // a lock in the lock's path
		m := zksync.NewMutex(s, p)
		n := len(children(t, c, p))
		for _, call := range calls {
			release, err := call.take(short(t), m)
			ok(t, err)
			ok(t, release(short(t)))
		}
		free(t, zksync.NewMutex(z.dial(t), p))
		nested.Unlock()
		if now := len(children(t, c, p)); now != n {
			t.Errorf("%d foreign children of %d are left", now, n)
		}
		atRest(t, s)
	})
}

// A GUID prefix that is cut off without a look at the length would panic.
func TestLesson10_ShortForeignNames(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		s, p := z.dial(t), lockPath(t)
		made(t, c, p)
		for i := range 40 {
			_, err := c.Create(p+"/_c_"+strings.Repeat("a", i), nil, 0, zk.WorldACL(zk.PermAll))
			ok(t, err)
		}
		m := zksync.NewMutex(s, p)
		m.Lock()
		next := async(func() error { return zksync.NewMutex(z.dial(t), p).LockContext(short(t)) })
		lineOf(t, c, p, 42)
		m.Unlock()
		ok(t, get(t, next))
	})
}

// Nodes are in the order of their numbers, whatever stands before those.
func TestLesson11_OrderByNumber(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		for _, guid := range []string{"00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"} {
			p := lockPath(t)
			made(t, c, p)
			// Curator's, made before ours.
			theirs, err := c.Create(p+"/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			ok(t, err)
			s := z.dial(t)
			m := zksync.NewMutex(s, p)
			if m.TryLock() {
				t.Fatalf("granted before %s", theirs)
			}
			second := async(func() error { return m.LockContext(short(t)) })
			lineOf(t, c, p, 2)
			// And one after ours does not block.
			_, err = c.Create(p+"/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			ok(t, err)
			ok(t, c.Delete(theirs, -1))
			ok(t, get(t, second))
			m.Unlock()
		}
	})
}

// A number that another node has, too, proves nothing: no grant, no wait.
func TestLesson13_TieGrantsNothing(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		for _, guid := range []string{"00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"} {
			for _, call := range calls {
				if call.try {
					continue // refused by the listing, before it has a number
				}
				p := lockPath(t)
				made(t, c, p)
				tied := fmt.Sprintf("%s/_c_%s-lock-%010d", p, guid, 1) // made as number 0: ours comes next
				_, err := c.Create(tied, nil, 0, zk.WorldACL(zk.PermAll))
				ok(t, err)
				s := z.dial(t)
				m := zksync.NewMutex(s, p)
				_, err = call.take(short(t), m)
				e := isError(t, err, zksync.ErrSequenceExhausted)
				if e.ErrorType() != "sequence_exhausted" {
					t.Errorf("%#v", e)
				}
				atRest(t, s)
				lineOf(t, c, p, 1)
				ok(t, c.Delete(tied, -1))
				free(t, m)
			}
		}
		p := lockPath(t)
		made(t, c, p)
		_, err := c.Create(p+"/lock-0000000001", nil, 0, zk.WorldACL(zk.PermAll))
		ok(t, err)
		panicsWith(t, zksync.NewMutex(z.dial(t), p).Lock, zksync.ErrSequenceExhausted)
	})
}

// Sequence numbers fall back with the parent, fences do not.
func TestLesson14_FenceGrows(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		s, p := z.dial(t), lockPath(t)
		var last int64
		for i := range 4 {
			m := zksync.NewMutex(s, p)
			if i == 3 {
				m = zksync.NewMutex(z.dial(t), p) // of another session
			}
			for range 2 {
				h, err := m.Hold(short(t))
				ok(t, err)
				if h.Fence() <= last {
					t.Errorf("fence %d after %d", h.Fence(), last)
				}
				last = h.Fence()
				ok(t, h.Release(short(t)))
			}
			lineOf(t, c, p, 0)
			if err := c.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Fatal(err)
			}
		}
		h, err := zksync.NewMutex(s, p).Hold(short(t))
		ok(t, err)
		seq, err := strconv.Atoi(h.Node()[len(h.Node())-10:])
		if err != nil || seq != 0 {
			t.Errorf("the number did not fall back: %s", h.Node())
		}
		ok(t, h.Release(short(t)))
	})
}

// A child with the highest number is somebody's junk, not the end of the path.
func TestLesson77_JunkWithHighestNumber(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		p := lockPath(t)
		made(t, c, p)
		for _, n := range []string{"lock-2147483647", "_c_00000000-0000-4000-8000-000000000000-lock-2147483647", "_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-2147483646"} {
			_, err := c.Create(p+"/"+n, nil, 0, zk.WorldACL(zk.PermAll))
			ok(t, err)
		}
		s := z.dial(t)
		m, other := zksync.NewMutex(s, p), zksync.NewMutex(z.dial(t), p)
		for _, call := range calls {
			if call.try {
				continue // any lock node in line refuses those
			}
			release, err := call.take(short(t), m)
			ok(t, err)
			next := async(func() error { return other.LockContext(short(t)) })
			lineOf(t, c, p, 5)
			ok(t, release(short(t)))
			ok(t, get(t, next))
			other.Unlock()
		}
		atRest(t, s)
	})
}
