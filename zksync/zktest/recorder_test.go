package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// lines returns what a recorder has, one request a line.
func lines(r *zktest.Recorder) string {
	var b strings.Builder
	for _, rec := range r.Requests() {
		fmt.Fprintln(&b, rec)
	}
	return b.String()
}

func TestRecorder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		before := open(t, s)
		before.create("/unseen", 0)
		rec := s.Record()
		time.Sleep(time.Second)
		member := s.AddMember()
		c := open(t, member)
		c.create("/a", 0)
		c.ping()
		c.do(wire.OpGetData, "/none", false)
		c.do(wire.OpMulti, op(wire.OpCheck, "/a", -1), op(wire.OpDelete, "/a", -1), end)
		c.do(wire.OpMulti, op(wire.OpCheck, "/unseen", -1), op(wire.OpDelete, "/a", -1), op(wire.OpDelete, "/unseen", -1), end)
		c.do(wire.OpCheck, "/x", 0)
		s.DropReply(is("setData"))
		c.do(wire.OpSetData, "/unseen", null, -1)
		again := rawDial(t, s.Dial, "")
		again.hello(c.again())
		s.DropRequest(is("create"))
		again.do(opCreate, crt("/b", 0)...)
		stranger := rawDial(t, s.Dial, "")
		stranger.hello(wire.ConnectRequest{SessionID: 7, Password: make([]byte, 16)})
		rawDial(t, s.Dial, "").hello(wire.ConnectRequest{LastZxidSeen: 1 << 40})
		s.DropRequest(nil)
		moves := open(t, s)
		rawDial(t, member.Dial, "").hello(moves.again())
		moves.do(opCreate, crt("/moved", 0)...)
		const want = `connect OK
create /a OK
getData /none NoNode
multi /a /a OK
multi /unseen /a /unseen NoNode
check /x NoNode
setData /unseen OK lost
connect OK
create /b lost
connect SessionExpired
connect lost
connect OK
connect OK
create /moved lost
`
		if got := lines(rec); got != want {
			t.Errorf("recorded:\n%swant:\n%s", got, want)
		}
		list := rec.Requests()
		first, last := list[1], list[3]
		if first.Session != c.hi.SessionID || first.Member != 1 || first.Xid != 1 || !first.Time.Equal(time.Now()) ||
			first.Zxid != s.Zxid()-5 || last.Zxid != first.Zxid+1 || list[0].Session != first.Session {
			t.Errorf("%+v\n%+v, at %d", list[0], first, s.Zxid())
		}
	})
}

func TestRecorderAwait(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		c.create("/a", 0)
		if r, err := rec.Await(t.Context(), is2("create")); err != nil || r.String() != "create /a OK" {
			t.Errorf("one that is there already: %v, %v", r, err)
		}
		start := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			c.create("/b", 0)
			c.ok(wire.OpExists, "/b", false)
		}()
		// What match sees of it has been done.
		_, err := rec.Await(t.Context(), func(r zktest.Record) bool {
			_, _, ok := s.Get("/b")
			if made := r.String() == "create /b OK"; made && !ok {
				t.Error("the node is not there")
			}
			return r.Op == "exists"
		})
		if took := time.Since(start); err != nil || took != 5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = rec.Await(ctx, is2("delete"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "among 4: ") || !strings.Contains(err.Error(), "create /b OK\n") {
			t.Errorf("error %v", err)
		}
		rec.Reset()
		if _, err := rec.Await(ctx, nil); err == nil || len(rec.Requests()) != 0 {
			t.Errorf("after Reset: %v, %v", err, rec.Requests())
		}
	})
}

func is2(op string) func(zktest.Record) bool {
	return func(r zktest.Record) bool { return r.Op == op }
}

// A request that a fault holds up has come, and is not carried out.
func TestRecorderAwaitArrival(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		s.CutFromLeader()
		c.send(opCreate, crt("/a", 0)...)
		r, err := rec.AwaitArrival(t.Context(), is2("create"))
		if err != nil || r.String() != "create /a ..." {
			t.Errorf("%v, %v", r, err)
		}
		late := s.Record()
		rec.Reset()
		s.RejoinLeader()
		for _, r := range []*zktest.Recorder{rec, late} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if got, err := r.Await(ctx, nil); err == nil {
				t.Errorf("a request from before was recorded: %v", got)
			}
		}
		c.recv()
		s.CutFromLeader()
		c.send(opCreate, crt("/b", 0)...)
		synctest.Wait()
		s.DisconnectAll()
		if r, err := rec.Await(t.Context(), nil); err != nil || r.String() != "create /b lost" {
			t.Errorf("the connection is closed meanwhile: %v, %v", r, err)
		}
	})
}

func TestRecorderEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		stopped, closed, c := s.Record(), s.Record(), open(t, s)
		wait := func(r *zktest.Recorder) chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := r.Await(t.Context(), is2("delete"))
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		a, b := wait(stopped), wait(closed)
		stopped.Stop()
		stopped.Stop()
		if err := <-a; !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "zktest: no such request among 1: the recorder is stopped\n") {
			t.Errorf("stopped: %v", err)
		}
		c.create("/a", 0)
		if got, all := lines(stopped), lines(closed); got != "connect OK\n" || all != got+"create /a OK\n" {
			t.Errorf("stopped %q, not stopped %q", got, all)
		}
		s.Close()
		if err := <-b; !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), ": the server is closed\n") {
			t.Errorf("closed: %v", err)
		}
		if _, err := closed.Await(t.Context(), is2("create")); err != nil {
			t.Errorf("recorded before the end: %v", err)
		}
	})
}

// The memory of a recorder has a bound.
func TestRecorderForgets(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		for range 10_004 {
			c.do(wire.OpCheck, "/x", 0)
		}
		if n, gone := len(rec.Requests()), rec.Forgotten(); n != 10_000 || gone != 5 {
			t.Errorf("%d kept, %d forgotten", n, gone)
		}
		long := "/" + strings.Repeat("x", 1<<20-100)
		for range 40 {
			c.do(wire.OpExists, long, false)
		}
		if n := len(rec.Requests()); n > 20 {
			t.Errorf("%d of 1 MiB are kept", n)
		}
		rec.Reset()
		if rec.Forgotten() != 0 {
			t.Errorf("%d forgotten after a reset", rec.Forgotten())
		}
	})
}

// Who waits and falls too far behind gets an error, and does not wait for what is gone.
func TestRecorderTooFast(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		_, err := rec.Await(t.Context(), func(zktest.Record) bool {
			for range 10_004 {
				c.do(wire.OpCheck, "/x", 0)
			}
			return false
		})
		if err == nil || !strings.Contains(err.Error(), "too fast") {
			t.Errorf("error %v", err)
		}
	})
}

// Reset while somebody waits: what it forgets is not missed.
func TestRecorderResetWhileWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		first := true
		r, err := rec.Await(t.Context(), func(r zktest.Record) bool {
			if first {
				first = false
				c.create("/a", 0)
				c.create("/b", 0)
				rec.Reset()
				c.create("/c", 0)
			}
			return r.Op == "create"
		})
		if err != nil || r.String() != "create /c OK" {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// Outside of a bubble and over TCP the same holds.
func TestRecorderInRealTime(t *testing.T) {
	s := zktest.Run(t)
	rec := s.Record()
	c := rawDial(t, net.DialTimeout, s.Addr())
	if !c.hello(wire.ConnectRequest{Timeout: 10_000}) {
		t.Fatal("no session")
	}
	got := make(chan error)
	go func() {
		_, err := rec.Await(t.Context(), is2("create"))
		got <- err
	}()
	c.create("/a", 0)
	must(t, <-got)
}

// Await ends with its context also while each look at a request makes another one.
func TestRecorderAwaitEndsAmongRequests(t *testing.T) {
	s := zktest.Run(t)
	c := open(t, s)
	r := s.Record()
	c.do(wire.OpExists, "/", false)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := r.Await(ctx, func(zktest.Record) bool {
		if calls++; calls == 10 {
			cancel()
		}
		c.do(wire.OpExists, "/", false)
		return calls == 1000
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// What is carried out after Stop gets its result, and nothing else is recorded.
func TestRecorderStopKeepsWhatCame(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		s.CutFromLeader()
		rec := s.Record()
		c.send(opCreate, crt("/a", 0)...)
		synctest.Wait()
		rec.Stop()
		if got := lines(rec); got != "create /a ...\n" {
			t.Errorf("while it waits: %s", got)
		}
		s.RejoinLeader()
		c.recv()
		c.create("/b", 0)
		if got := lines(rec); got != "create /a OK\n" {
			t.Errorf("after that: %s", got)
		}
	})
}

// What is forgotten before Await begins is not waited for, and no error.
func TestRecorderForgottenBeforeAwait(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		rec, c := s.Record(), open(t, s)
		for range 10_004 {
			c.do(wire.OpExists, "/", false)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := rec.Await(ctx, is2("connect")); !errors.Is(err, context.DeadlineExceeded) || rec.Forgotten() != 5 {
			t.Errorf("%d forgotten, error %v", rec.Forgotten(), err)
		}
	})
}
