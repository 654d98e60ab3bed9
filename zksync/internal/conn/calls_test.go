package conn

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

func TestCalls(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		if c.Timeout() != T || !c.Ordered() || c.Logger() == nil {
			t.Error("Timeout, Ordered or Logger")
		}
		before := c.Requests()
		if err := c.CreateParent("/a", acl); err != nil {
			t.Error(err)
		}
		made, ran, err := c.Create([]string{"/a/x-", "/a/y-"}, []byte("d"), zk.FlagEphemeral|zk.FlagSequence, acl)
		if err != nil || !slices.Equal(made, []string{"/a/x-0000000000", "/a/y-0000000001"}) || ran.Session() != 1 {
			t.Errorf("%v, %+v, %v", made, ran, err)
		}
		names, _, err := c.Children("/a")
		if err != nil || len(names) != 2 {
			t.Errorf("%v, %v", names, err)
		}
		if st, _, err := c.Stat(made[0]); err != nil || st.EphemeralOwner != 1 {
			t.Errorf("%+v, %v", st, err)
		}
		if _, _, err := c.Stat("/none"); !errors.Is(err, zk.ErrNoNode) {
			t.Error(err)
		}
		if _, err := c.Sync("/a"); err != nil {
			t.Error(err)
		}
		if gone, _, err := c.Check(made[0], "/none", made[1]); gone != 1 || err != nil {
			t.Errorf("gone %d, %v", gone, err)
		}
		if gone, _, err := c.Check(made...); gone != -1 || err != nil {
			t.Errorf("gone %d, %v", gone, err)
		}
		if n := c.Requests() - before; n != 8 {
			t.Errorf("%d requests, want 8", n)
		}
		// If one operation fails, all of them fail with its error.
		if _, _, err := c.Create([]string{"/p", "/a"}, nil, 0, acl); !errors.Is(err, zk.ErrNodeExists) {
			t.Errorf("several: %v", err)
		}
		// A server without containers gets a plain node.
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpCreateContainer {
					a.code = wire.CodeUnimplemented
				}
				return a
			}
		})
		if err := c.CreateParent("/b", acl); err != nil || f.countOf(wire.OpCreate) != 1 {
			t.Errorf("without containers: %v", err)
		}
	})
}

// If a session expires while a request waits in a program's client, the next session
// runs that request. So its Ran names no session.
func TestRanAcrossSessions(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.expire()
		time.Sleep(1500 * time.Millisecond) // in the client's second pause: it knows that the session is over
		_, ran, err := c.Create([]string{"/x"}, nil, zk.FlagEphemeral, acl)
		if err != nil || ran.Session() != 0 || ran.Before.Session == 2 || ran.After.Session != 2 {
			t.Errorf("%+v, %v", ran, err)
		}
		f.do(func() {
			if n := f.nodes["/x"]; n == nil || n.stat.EphemeralOwner != 2 {
				t.Errorf("the node is %+v", n)
			}
		})
	})
}

// A request that is made without a connection is not sent, also not later.
func TestNothingIsSentWithoutAConnection(t *testing.T) {
	for name, lose := range map[string]func(*fake){"Cut": (*fake).cut, "Expired": (*fake).expire} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			c := f.open(t)
			f.do(func() { f.refuse = errRefused })
			lose(f)
			time.Sleep(time.Second)
			before := c.Requests()
			_, ran, err := c.Create([]string{"/x"}, nil, zk.FlagEphemeral, acl)
			if Classify(err) != NotSent || ran.Session() != 1 || c.Requests() != before {
				t.Errorf("%+v, %v, %d requests", ran, err, c.Requests()-before)
			}
			f.do(func() { f.refuse = nil })
			time.Sleep(T)
			if _, err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := f.countOf(wire.OpCreate); n != 0 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// Close ends all calls and waits, and later ones fail. Its ctx bounds it.
func TestClose(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, err := Dial(t.Context(), f.config())
		if err != nil {
			t.Fatal(err)
		}
		f.do(func() { f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpSync} } })
		calls := make(chan error, maxOutstanding+10)
		for range maxOutstanding + 10 { // more than may wait for an answer at one time
			go func() { _, err := c.Sync("/"); calls <- err }()
		}
		time.Sleep(time.Second)
		if n := c.Requests(); n != maxOutstanding {
			t.Errorf("%d requests on their way, want %d", n, maxOutstanding)
		}
		f.end(c)
		for range cap(calls) {
			if err := <-calls; err == nil {
				t.Error("a call without an answer, and without an error")
			}
		}
		c.Close(t.Context()) // again
		if _, err := c.Await(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Await: %v", err)
		}
		if _, err := c.Watch("/"); !errors.Is(err, ErrClosed) {
			t.Errorf("Watch: %v", err)
		}
		if _, _, err := c.Check("/"); !errors.Is(err, ErrClosed) {
			t.Errorf("Check: %v", err)
		}
		if _, err := c.newLink(); !errors.Is(err, ErrClosed) {
			t.Errorf("a new client: %v", err)
		}
		if n := f.countOf(wire.OpCloseSession); n != 1 {
			t.Errorf("the session was ended %d times", n)
		}
		n := f.dials()
		time.Sleep(time.Hour)
		if f.dials() != n {
			t.Error("dials after Close")
		}
	})
	inBubble(t, "Bounded", func(t *testing.T) {
		f := newFake(T)
		c, err := Dial(t.Context(), f.config())
		if err != nil {
			t.Fatal(err)
		}
		f.do(func() { f.script = allMute })
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		c.Close(ctx)
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		f.end(c)
		time.Sleep(5 * time.Second) // the client's own Close
	})
	inBubble(t, "Disconnected", func(t *testing.T) {
		f := newFake(T)
		c, err := Dial(t.Context(), f.config())
		if err != nil {
			t.Fatal(err)
		}
		f.do(func() { f.refuse = errRefused })
		f.cut()
		time.Sleep(T)
		start := time.Now()
		f.end(c)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
