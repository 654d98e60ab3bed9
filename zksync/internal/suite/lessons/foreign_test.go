package lessons_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

var foreign = []string{
	"config", "0", "1", "_c_x", "_c_", "_c_1234567890", "lock-", "lock-abc", "lock-1", "lock--1", "x", "-", "__lock__",
	"_c_00000000-0000-0000-0000-000000000000-lock-", "_c_00000000-0000-0000-0000-000000000000", "lock-99999999999", "lock-+000000001",
	"_c_00000000000000000000000000000000-", "lease-0000000000", "0000000000", "ünïcode", "lock-0000000000x", "permit-1of1", "read-0000000000",
}

// Children that are no lock nodes neither hang nor fail a lock, and are let be.
func TestForeignChildren(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		p := z.Path(t)
		suite.MakePath(t, c, p)
		for _, name := range foreign {
			_, err := c.Create(p+"/"+name, []byte("data"), 0, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
		}
		s := z.Dial(t)
		nested := zksync.NewMutex(s, p+"/nested")
		nested.Lock() // a lock in the lock's path
		m := zksync.NewMutex(s, p)
		n := len(suite.Children(t, c, p))
		for _, call := range suite.Calls {
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			suite.Must(t, release(suite.Context(t)))
		}
		suite.LockAndUnlock(t, zksync.NewMutex(z.Dial(t), p))
		nested.Unlock()
		if now := len(suite.Children(t, c, p)); now != n {
			t.Errorf("%d foreign children of %d are left", now, n)
		}
		suite.AtRest(t, s)
	})
}

// A GUID prefix that is cut off without a look at the length would panic.
func TestShortForeignNames(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		s, p := z.Dial(t), z.Path(t)
		suite.MakePath(t, c, p)
		for i := range 40 {
			_, err := c.Create(p+"/_c_"+strings.Repeat("a", i), nil, 0, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
		}
		m := zksync.NewMutex(s, p)
		m.Lock()
		next := suite.Async(func() error { return zksync.NewMutex(z.Dial(t), p).LockContext(suite.Context(t)) })
		suite.InLine(t, c, p, 42)
		m.Unlock()
		suite.Must(t, suite.Receive(t, next))
	})
}

// Nodes are in the order of their numbers, whatever stands before those.
func TestOrderByNumber(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		for _, guid := range []string{"00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"} {
			p := z.Path(t)
			suite.MakePath(t, c, p)
			// Curator's, made before ours.
			theirs, err := c.Create(p+"/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
			s := z.Dial(t)
			m := zksync.NewMutex(s, p)
			if m.TryLock() {
				t.Fatalf("granted before %s", theirs)
			}
			second := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
			suite.InLine(t, c, p, 2)
			// And one after ours does not block.
			_, err = c.Create(p+"/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
			suite.Must(t, c.Delete(theirs, -1))
			suite.Must(t, suite.Receive(t, second))
			m.Unlock()
		}
	})
}

// A number that another node has, too, proves nothing: no grant, no wait.
func TestTieGrantsNothing(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		for _, guid := range []string{"00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"} {
			for _, call := range suite.Calls {
				if call.Try {
					continue // refused by the listing, before it has a number
				}
				p := z.Path(t)
				suite.MakePath(t, c, p)
				tied := fmt.Sprintf("%s/_c_%s-lock-%010d", p, guid, 1) // made as number 0: ours comes next
				_, err := c.Create(tied, nil, 0, zk.WorldACL(zk.PermAll))
				suite.Must(t, err)
				s := z.Dial(t)
				m := zksync.NewMutex(s, p)
				_, err = call.Take(suite.Context(t), m)
				e := suite.IsError(t, err, zksync.ErrSequenceExhausted)
				if e.ErrorType() != "sequence_exhausted" {
					t.Errorf("%#v", e)
				}
				suite.AtRest(t, s)
				suite.InLine(t, c, p, 1)
				suite.Must(t, c.Delete(tied, -1))
				suite.LockAndUnlock(t, m)
			}
		}
		p := z.Path(t)
		suite.MakePath(t, c, p)
		_, err := c.Create(p+"/lock-0000000001", nil, 0, zk.WorldACL(zk.PermAll))
		suite.Must(t, err)
		suite.PanicsWith(t, zksync.NewMutex(z.Dial(t), p).Lock, zksync.ErrSequenceExhausted)
	}, suite.Timeless)
}

// Sequence numbers fall back with the parent, fences do not.
func TestFenceGrows(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		s, p := z.Dial(t), z.Path(t)
		var last int64
		for i := range 4 {
			m := zksync.NewMutex(s, p)
			if i == 3 {
				m = zksync.NewMutex(z.Dial(t), p) // of another session
			}
			for range 2 {
				h, err := m.Hold(suite.Context(t))
				suite.Must(t, err)
				if h.Fence() <= last {
					t.Errorf("fence %d after %d", h.Fence(), last)
				}
				last = h.Fence()
				suite.Must(t, h.Release(suite.Context(t)))
			}
			suite.InLine(t, c, p, 0)
			if err := c.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Fatal(err)
			}
		}
		h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
		suite.Must(t, err)
		seq, err := strconv.Atoi(h.Node()[len(h.Node())-10:])
		if err != nil || seq != 0 {
			t.Errorf("the number did not fall back: %s", h.Node())
		}
		suite.Must(t, h.Release(suite.Context(t)))
	}, suite.Smoke)
}

// A child with the highest number is somebody's junk, not the end of the path.
func TestJunkWithHighestNumber(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		p := z.Path(t)
		suite.MakePath(t, c, p)
		for _, n := range []string{"lock-2147483647", "_c_00000000-0000-4000-8000-000000000000-lock-2147483647", "_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-2147483646"} {
			_, err := c.Create(p+"/"+n, nil, 0, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
		}
		s := z.Dial(t)
		m, other := zksync.NewMutex(s, p), zksync.NewMutex(z.Dial(t), p)
		for _, call := range suite.Calls {
			if call.Try {
				continue // any lock node in line refuses those
			}
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			next := suite.Async(func() error { return other.LockContext(suite.Context(t)) })
			suite.InLine(t, c, p, 5)
			suite.Must(t, release(suite.Context(t)))
			suite.Must(t, suite.Receive(t, next))
			other.Unlock()
		}
		suite.AtRest(t, s)
	})
}
