package zksync_test

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Blocked names who is ahead, as its node says itself.
func TestBlockedTellsThePeer(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		host, _ := os.Hostname()
		owner := zksync.NewOwner("order 7")
		for _, tt := range []struct {
			name string
			opts []zksync.Option
			want zksync.Peer
		}{
			{"all", []zksync.Option{zksync.WithIdentity("pod-3"), zksync.WithTracer(new(recorder).tracer())}, zksync.Peer{
				Identity: "pod-3", Host: cut(host), PID: os.Getpid(), OwnerID: strings.TrimPrefix(owner.String(), "order 7#"), OwnerName: "order 7",
				TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			}},
			{"nothing", []zksync.Option{zksync.WithIdentity("pod-3"), zksync.WithoutNodeInfo(), zksync.WithTracer(new(recorder).tracer())}, zksync.Peer{}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := lockPath(t)
				holder := z.dial(t, tt.opts...)
				before := time.Now()
				h, err := zksync.NewMutex(holder, p).As(owner).Hold(short(t))
				ok(t, err)
				rec := new(recorder)
				s := z.dial(t, zksync.WithTracer(rec.tracer()))
				m := zksync.NewMutex(s, p)
				second := async(func() error { return m.LockContext(short(t)) })
				var peer zksync.Peer
				rec.tells(t, "Blocked was called", func() bool {
					if len(rec.peers) == 1 {
						peer = rec.peers[0]
					}
					return len(rec.peers) > 0
				})
				if d := peer.Since.Sub(before); d < -time.Minute || d > time.Minute {
					t.Errorf("since %v", peer.Since)
				}
				want := tt.want
				want.Since, want.Session, want.Node, want.Position = peer.Since, holder.ID(), h.Node(), 1
				if peer != want {
					t.Errorf("blocked by %+v, want %+v", peer, want)
				}

				// The next in line is told of the second, not of the holder.
				rec3 := new(recorder)
				third := zksync.NewMutex(z.dial(t, zksync.WithTracer(rec3.tracer())), p)
				ctx, cancel := context.WithCancel(context.Background())
				gave := async(func() error { return third.LockContext(ctx) })
				rec3.tells(t, "Blocked names the second", func() bool {
					return len(rec3.peers) == 1 && rec3.peers[0].Session == s.ID() && rec3.peers[0].Position == 2
				})
				cancel()
				isError(t, get(t, gave), context.Canceled)
				ok(t, h.Release(short(t)))
				ok(t, get(t, second))
				m.Unlock()
				rec.balanced(t)
				rec3.balanced(t)
			})
		}
	})
}

// A holder of the same session is named, too, with what its node says, and
// without a request.
func TestBlockedByOwnSession(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s := z.dial(t, zksync.WithIdentity("me"), zksync.WithTracer(rec.tracer()))
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		owner := zksync.NewOwner("mine")
		for _, take := range []func() (release func(context.Context) error, err error){
			func() (func(context.Context) error, error) {
				l := m.As(owner)
				return l.UnlockContext, l.LockContext(short(t))
			},
			func() (func(context.Context) error, error) { return calls[4].take(short(t), m) }, // Do, for nobody
		} {
			release, err := take()
			ok(t, err)
			rec.reset()
			second := async(func() error { return m.LockContext(short(t)) })
			rec.tells(t, "Blocked was called", func() bool { return len(rec.peers) > 0 })
			rec.mu.Lock()
			peer := rec.peers[0]
			rec.mu.Unlock()
			names := children(t, z.raw(t), p)
			slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
			if !peer.Local || peer.Node != p+"/"+names[0] || peer.Session != s.ID() || peer.Identity != "me" ||
				peer.PID != os.Getpid() || time.Since(peer.Since) > time.Minute {
				t.Errorf("%+v", peer)
			}
			if peer.OwnerName != "" && peer.OwnerName != "mine" || peer.OwnerName == "" && peer.OwnerID != "" {
				t.Errorf("owner of %+v", peer)
			}
			ok(t, release(short(t)))
			ok(t, get(t, second))
			m.Unlock()
			rec.balanced(t)
		}
		rec.mu.Lock()
		defer rec.mu.Unlock()
		for _, r := range rec.result {
			if r.Err != nil || path.Dir(r.Node) != p {
				t.Errorf("%+v", r)
			}
		}
	})
}

// The functions come in order, with results that fit.
func TestTracerOrder(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s, p := z.dial(t, zksync.WithTracer(rec.tracer())), lockPath(t)
		m := zksync.NewMutex(s, p)
		said := func(want string) {
			t.Helper()
			atRest(t, s)
			rec.balanced(t)
			rec.mu.Lock()
			if got := strings.Join(rec.log, ", "); got != want {
				t.Errorf("%s; want %s", got, want)
			}
			rec.mu.Unlock()
		}
		free(t, m)
		said("hold, acquire end, hold end, release")
		rec.reset()

		h, err := m.Hold(context.WithValue(short(t), keyed{}, "mine"))
		ok(t, err)
		if ctx := h.Context(context.Background()); ctx.Value(spanKey("Hold")) == nil || ctx.Value(keyed{}) != nil {
			t.Error("the hold's span does not travel with its context, or more than it does")
		}
		ok(t, h.Release(short(t)))
		rec.mu.Lock()
		if r := rec.result[0]; r.Fence != h.Fence() || r.Node != h.Node() || r.Contended || r.Handoff || r.Waited <= 0 {
			t.Errorf("%+v", r)
		}
		if e := rec.ends[0]; e.Reason != zksync.EndUnlocked || e.Err != nil || e.Held <= 0 || e.Held > time.Minute {
			t.Errorf("%+v", e)
		}
		rec.mu.Unlock()
		rec.reset()

		// A hand-over: no release in between.
		m.Lock()
		second := async(func() error { return m.LockContext(short(t)) })
		rec.tells(t, "the second waits", func() bool { return len(rec.peers) == 1 })
		m.Unlock()
		ok(t, get(t, second))
		m.Unlock()
		atRest(t, s)
		rec.balanced(t)
		rec.mu.Lock()
		// The end of the first tenure is told beside the beginning of the second.
		rest := slices.DeleteFunc(slices.Clone(rec.log), func(s string) bool { return s == "hold end" })
		if got := strings.Join(rest, ", "); len(rec.log)-len(rest) != 2 ||
			got != "hold, acquire end, blocked, handoff, hold, acquire end, release" {
			t.Errorf("%v", rec.log)
		}
		if r := rec.result[1]; !r.Handoff || !r.Contended || r.Err != nil {
			t.Errorf("%+v", r)
		}
		rec.mu.Unlock()
		rec.reset()

		// Refused, and cancelled.
		other := zksync.NewMutex(z.dial(t), p)
		other.Lock()
		if m.TryLock() {
			t.Error("two holders")
		}
		ctx, cancel := context.WithCancelCause(short(t))
		result := async(func() error { return m.LockContext(ctx) })
		rec.tells(t, "blocked", func() bool { return len(rec.peers) == 1 })
		cancel(errCause)
		isError(t, get(t, result), context.Canceled, errCause)
		other.Unlock()
		said("acquire end, blocked, acquire end")
		rec.mu.Lock()
		if r := rec.result[1]; r.Position != 1 || !r.Contended || path.Dir(r.Node) != p || r.Fence != 0 {
			t.Errorf("%+v", r)
		}
		rec.mu.Unlock()
	})
}

// The end of a tenure says why it ended.
func TestEndReasons(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		for _, tt := range []struct {
			want zksync.EndReason
			end  func(s *zksync.Session, h *zksync.Hold) error
		}{
			{zksync.EndUnlocked, func(s *zksync.Session, h *zksync.Hold) error { return h.Release(short(t)) }},
			{zksync.EndNodeDeleted, func(s *zksync.Session, h *zksync.Hold) error { return c.Delete(h.Node(), -1) }},
			{zksync.EndSessionExpired, func(s *zksync.Session, h *zksync.Hold) error { return z.expire(s.ID()) }},
			{zksync.EndClosed, func(s *zksync.Session, h *zksync.Hold) error { return s.Close() }},
		} {
			rec := new(recorder)
			s, p := z.dial(t, zksync.WithTracer(rec.tracer())), lockPath(t)
			h, err := zksync.NewMutex(s, p).Hold(short(t))
			ok(t, err)
			ok(t, tt.end(s, h))
			rec.tells(t, "HoldEnd", func() bool { return len(rec.ends) == 1 })
			rec.mu.Lock()
			// The end of a session deletes the node, and may be seen by that; and a
			// client that takes long to come back has been out of contact first.
			if got := rec.ends[0].Reason; got != tt.want && (tt.want != zksync.EndSessionExpired ||
				got != zksync.EndNodeDeleted && (got != zksync.EndContactLost || !z.adapted)) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			rec.mu.Unlock()
			rec.balanced(t)
		}
	})
}

// What becomes of the connection is told in order.
func TestSessionEvents(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		first := s.ID()
		ok(t, z.expire(first))
		eventually(t, "another session stands", func() bool { return s.Stats().Connects > 1 && s.ID() != first })
		second := s.ID()
		ok(t, s.Close())
		rec.mu.Lock()
		defer rec.mu.Unlock()
		var states []string
		for _, e := range rec.events {
			// A takeover of the session may cut the connection more than once.
			if n := len(states); n < 2 || states[n-2] != string(e.State) || e.State == zksync.StateClosed {
				states = append(states, string(e.State))
			}
			if e.State == zksync.StateConnected && (e.SessionID != first && e.SessionID != second || e.Server == "") {
				t.Errorf("%+v", e)
			}
		}
		all := strings.Join(states, " ")
		if !strings.HasPrefix(all, "connected disconnected") || !strings.HasSuffix(all, "expired connected closed") {
			t.Errorf("%s", all)
		}
	})
}
