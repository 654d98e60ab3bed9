package conn

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// DeleteAsync returns when the deletion has been written, and the result comes later.
// What is sent after it stands behind it.
func TestDeleteAsync(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		ephemeral(t, c, "/node")
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpDelete {
					a.delay = time.Second
				}
				return a
			}
		})
		w.take()
		start := time.Now()
		var took time.Duration
		result := make(chan error, 1)
		err := c.DeleteAsync("/node", Wait, func(ran Ran, err error) {
			took = time.Since(start)
			if ran.Session() != 1 {
				t.Errorf("ran %+v", ran)
			}
			result <- err
		})
		if err != nil || time.Since(start) != 0 || len(w.take()) != 1 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		names, _, err := c.Children("/")
		if err != nil || len(names) != 0 {
			t.Errorf("the next request sees %v, %v", names, err)
		}
		if err := <-result; err != nil || took != time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		// A second deletion finds no node. Without a connection nothing is sent.
		if c.DeleteAsync("/node", Wait, func(_ Ran, err error) { result <- err }) != nil || !errors.Is(<-result, zk.ErrNoNode) {
			t.Error("no ErrNoNode")
		}
		f.do(func() { f.refuse = errRefused })
		f.cut()
		synctest.Wait()
		if err := c.DeleteAsync("/node", Wait, func(Ran, error) { t.Error("called") }); Classify(err) != NotSent {
			t.Errorf("without a connection: %v", err)
		}
	})
}

// Two answers in the wrong order end the connection, and neither reaches a call.
func TestAnswersKeepTheirOrder(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		var first int32
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) (a act) {
				switch {
				case p.n > 1:
				case h.Op == wire.OpExists:
					first, a.silent = h.Xid, true
				case h.Op == wire.OpDelete:
					p.out <- frame(header(h.Xid, 0))
					a.raw = frame(header(first, 0), make([]byte, 68))
				}
				return a
			}
		})
		b := c.Batch()
		stat, del := b.Stat("/node"), b.Delete("/node")
		b.Send(t.Context())
		if <-stat.Done(); Classify(stat.Err()) != Unknown {
			t.Errorf("the first: %v", stat.Err())
		}
		if <-del.Done(); Classify(del.Err()) != Unknown {
			t.Errorf("the second: %v", del.Err())
		}
		if st, err := c.Await(t.Context()); err != nil || st.Epoch != 2 || st.Session != 1 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// The largest zxid of all answers counts for the next connect request, whoever asked.
func TestLastZxidOfAllAnswers(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		seen := func() (seen int64) {
			f.cut()
			time.Sleep(time.Second)
			if _, err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.do(func() { seen = f.peers[len(f.peers)-1].connect.LastZxidSeen })
			return seen
		}
		f.do(func() { f.zxid = 100 })
		ephemeral(t, c, "/node")
		if n := seen(); n != 101 {
			t.Errorf("zxid %d after ours, want 101", n)
		}
		f.do(func() { f.zxid = 200 })
		if _, _, err := c.Zk().Get("/node"); err != nil {
			t.Fatal(err)
		}
		if n := seen(); n != 200 {
			t.Errorf("zxid %d after the client's, want 200", n)
		}
		f.do(func() { f.zxid = 150 }) // as an answer that is older
		if _, _, err := c.Get("/node"); err != nil {
			t.Fatal(err)
		}
		if n := seen(); n != 200 {
			t.Errorf("zxid %d after an older answer, want 200", n)
		}
	})
}

// The credentials that the program has added to the client are answered on a new
// connection before any request of ours. A refused one is not sent again.
func TestCredentialsComeFirst(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		zc := c.Zk()
		if err := zc.AddAuth("digest", []byte("u:p")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for range 2 { // the client repeats it each time
			f.do(func() { f.requests = nil })
			f.cut()
			time.Sleep(time.Second)
			for _, _, err := c.Children("/"); err != nil; _, _, err = c.Children("/") {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			f.do(func() {
				var ops []string
				for _, r := range f.requests {
					ops = append(ops, r.op.String())
				}
				if got := strings.Join(ops, " "); got != "auth getChildren2 auth" && got != "auth auth getChildren2" {
					t.Errorf("requests: %s", got)
				}
			})
		}
	})
}

// When a call learns that its connection has ended, the state says so, too. Otherwise a
// caller that tries again would find the same connection.
func TestDownBeforeTheResult(t *testing.T) {
	for name, raw := range map[string]func(xid int32) []byte{
		"Malformed": func(xid int32) []byte { return frame(header(xid, 0), i32(1)) },
		"NotNext":   func(xid int32) []byte { return frame(header(xid-1, 0)) },
		"End":       func(int32) []byte { return frame() },
	} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			c := f.open(t)
			f.do(func() {
				f.script = func(p *peer, h wire.RequestHeader) (a act) {
					if p.n == 1 {
						a.raw = raw(h.Xid)
					}
					return a
				}
			})
			b := c.Batch()
			stat := b.Stat("/")
			stat.Then(func() {
				if st, _ := c.State(); st.Up {
					t.Errorf("the result %v comes in the state %+v", stat.Err(), st)
				}
			})
			b.Send(t.Context())
			if <-stat.Done(); Classify(stat.Err()) != Unknown {
				t.Errorf("result %v", stat.Err())
			}
		})
	}
}

// A connection that is given up ends its calls, even if the client has locked up and does
// not read.
func TestCutEndsTheCalls(t *testing.T) {
	c := newConn(Config{Timeout: time.Minute})
	l := &link{c: c, done: make(chan struct{}), grown: make(chan struct{})}
	s := &scripted{}
	s.in, s.out = io.Pipe()
	fr := newFramed(l, s, s, "x", time.Second)
	fr.ready, fr.sent, l.cur, c.link = true, time.Now(), fr, l
	c.mu.Lock()
	c.setLocked(State{Session: 1, Epoch: 1, Up: true})
	c.mu.Unlock()
	b := c.Batch()
	k := b.Stat("/")
	b.Send(context.Background()) // until it is written
	l.cut()
	if <-k.Done(); Classify(k.Err()) != Unknown {
		t.Errorf("result %v", k.Err())
	}
	if _, _, err := c.Stat("/"); Classify(err) != NotSent {
		t.Errorf("after that: %v", err)
	}
}
