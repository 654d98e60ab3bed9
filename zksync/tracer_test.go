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
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Blocked names who is ahead, as its node says itself.
func TestBlockedTellsThePeer(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		host, _ := os.Hostname()
		owner := zksync.NewOwner("order 7")
		for _, tt := range []struct {
			name string
			opts []zksync.DialOption
			want zksync.Peer
		}{
			{"all", []zksync.DialOption{zksync.WithIdentity("pod-3"), zksync.WithTracer(suite.NewRecorder(t).Tracer())}, zksync.Peer{LockNode: zksync.LockNode{
				Identity: "pod-3", Host: tail(host, 64), PID: os.Getpid(), OwnerID: strings.TrimPrefix(owner.String(), "order 7#"), OwnerName: "order 7", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			}}},
			{"nothing", []zksync.DialOption{zksync.WithIdentity("pod-3"), zksync.WithoutNodeInfo(), zksync.WithTracer(suite.NewRecorder(t).Tracer())}, zksync.Peer{}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := z.Path(t)
				holder := z.Dial(t, tt.opts...)
				before := time.Now()
				h, err := zksync.NewMutex(holder, p).As(owner).Hold(suite.Context(t))
				suite.Must(t, err)
				rec := suite.NewRecorder(t)
				s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
				m := zksync.NewMutex(s, p)
				second := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
				var peer zksync.Peer
				rec.Tells(t, "Blocked was called", func() bool {
					if len(rec.Peers) == 1 {
						peer = rec.Peers[0]
					}
					return len(rec.Peers) > 0
				})
				if d := peer.Since.Sub(before); d < -time.Minute || d > time.Minute {
					t.Errorf("since %v", peer.Since)
				}
				want := tt.want
				want.Since, want.Session, want.Node, want.Position = peer.Since, holder.ID(), h.Node(), 1
				want.Mode, want.Form, want.Fence = zksync.ModeMutex, zksync.FormZKSync, h.Fence()
				if peer != want {
					t.Errorf("blocked by %+v, want %+v", peer, want)
				}

				// For the third in line, Blocked names the second, not the holder.
				rec3 := suite.NewRecorder(t)
				third := zksync.NewMutex(z.Dial(t, zksync.WithTracer(rec3.Tracer())), p)
				ctx, cancel := context.WithCancel(context.Background())
				gave := suite.Async(func() error { return third.LockContext(ctx) })
				rec3.Tells(t, "Blocked names the second", func() bool {
					return len(rec3.Peers) == 1 && rec3.Peers[0].Session == s.ID() && rec3.Peers[0].Position == 2
				})
				cancel()
				suite.IsError(t, suite.Receive(t, gave), context.Canceled)
				suite.Must(t, h.Release(suite.Context(t)))
				suite.Must(t, suite.Receive(t, second))
				m.Unlock()
				rec.Balanced(t)
				rec3.Balanced(t)
			})
		}
	})
}

// A holder of the same session is named, too, with what its node says, and
// without a request.
func TestBlockedByOwnSession(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithIdentity("me"), zksync.WithTracer(rec.Tracer()))
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		owner := zksync.NewOwner("mine")
		for _, take := range []func() (release func(context.Context) error, err error){
			func() (func(context.Context) error, error) {
				l := m.As(owner)
				return l.UnlockContext, l.LockContext(suite.Context(t))
			},
			func() (func(context.Context) error, error) { return suite.Calls[4].Take(suite.Context(t), m) }, // Do, for nobody
		} {
			release, err := take()
			suite.Must(t, err)
			rec.Reset()
			second := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
			rec.Tells(t, "Blocked was called", func() bool { return len(rec.Peers) > 0 })
			rec.Mu.Lock()
			peer := rec.Peers[0]
			rec.Mu.Unlock()
			names := suite.Children(t, z.Raw(t), p)
			slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
			if !peer.Local || peer.Node != p+"/"+names[0] || peer.Session != s.ID() || peer.Identity != "me" ||
				peer.PID != os.Getpid() || time.Since(peer.Since) > time.Minute {
				t.Errorf("%+v", peer)
			}
			if peer.OwnerName != "" && peer.OwnerName != "mine" || peer.OwnerName == "" && peer.OwnerID != "" {
				t.Errorf("owner of %+v", peer)
			}
			suite.Must(t, release(suite.Context(t)))
			suite.Must(t, suite.Receive(t, second))
			m.Unlock()
			rec.Balanced(t)
		}
		rec.Mu.Lock()
		defer rec.Mu.Unlock()
		for _, r := range rec.Results {
			if r.Err != nil || path.Dir(r.Node) != p {
				t.Errorf("%+v", r)
			}
		}
	})
}

// The functions come in order, with results that fit.
func TestTracerOrder(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s, p := z.Dial(t, zksync.WithTracer(rec.Tracer())), z.Path(t)
		m := zksync.NewMutex(s, p)
		said := func(want string) {
			t.Helper()
			suite.AtRest(t, s)
			rec.Balanced(t)
			rec.Mu.Lock()
			if got := strings.Join(rec.Log, ", "); got != want {
				t.Errorf("%s; want %s", got, want)
			}
			rec.Mu.Unlock()
		}
		suite.LockAndUnlock(t, m)
		said("hold, acquire end, hold end, release")
		rec.Reset()

		h, err := m.Hold(context.WithValue(suite.Context(t), keyed{}, "mine"))
		suite.Must(t, err)
		if ctx := h.Context(context.Background()); ctx.Value(suite.SpanKey("Hold")) == nil || ctx.Value(keyed{}) != nil {
			t.Error("the hold's span does not travel with its context, or more than it does")
		}
		suite.Must(t, h.Release(suite.Context(t)))
		rec.Mu.Lock()
		if r := rec.Results[0]; r.Fence != h.Fence() || r.Node != h.Node() || r.Contended || r.Handoff || r.Waited <= 0 {
			t.Errorf("%+v", r)
		}
		if e := rec.Ends[0]; e.Reason != zksync.EndUnlocked || e.Err != nil || e.Held <= 0 || e.Held > time.Minute {
			t.Errorf("%+v", e)
		}
		rec.Mu.Unlock()
		rec.Reset()

		// A hand-over: no release in between.
		m.Lock()
		second := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		rec.Tells(t, "the second waits", func() bool { return len(rec.Peers) == 1 })
		m.Unlock()
		suite.Must(t, suite.Receive(t, second))
		m.Unlock()
		suite.AtRest(t, s)
		rec.Balanced(t)
		rec.Mu.Lock()
		// The end of the first hold is reported beside the beginning of the second.
		rest := slices.DeleteFunc(slices.Clone(rec.Log), func(s string) bool { return s == "hold end" })
		if got := strings.Join(rest, ", "); len(rec.Log)-len(rest) != 2 ||
			got != "hold, acquire end, blocked, handoff, hold, acquire end, release" {
			t.Errorf("%v", rec.Log)
		}
		if r := rec.Results[1]; !r.Handoff || !r.Contended || r.Err != nil {
			t.Errorf("%+v", r)
		}
		rec.Mu.Unlock()
		rec.Reset()

		// Refused, and cancelled.
		other := zksync.NewMutex(z.Dial(t), p)
		other.Lock()
		if m.TryLock() {
			t.Error("two holders")
		}
		ctx, cancel := context.WithCancelCause(suite.Context(t))
		result := suite.Async(func() error { return m.LockContext(ctx) })
		rec.Tells(t, "blocked", func() bool { return len(rec.Peers) == 1 })
		cancel(suite.ErrCause)
		suite.IsError(t, suite.Receive(t, result), context.Canceled, suite.ErrCause)
		other.Unlock()
		said("acquire end, blocked, acquire end")
		rec.Mu.Lock()
		if r := rec.Results[1]; r.Position != 1 || !r.Contended || path.Dir(r.Node) != p || r.Fence != 0 {
			t.Errorf("%+v", r)
		}
		rec.Mu.Unlock()
	})
}

// The end of a tenure says why it ended.
func TestEndReasons(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		for _, tt := range []struct {
			want zksync.EndReason
			end  func(s *zksync.Session, h *zksync.Hold) error
		}{
			{zksync.EndUnlocked, func(s *zksync.Session, h *zksync.Hold) error { return h.Release(suite.Context(t)) }},
			{zksync.EndNodeDeleted, func(s *zksync.Session, h *zksync.Hold) error { return c.Delete(h.Node(), -1) }},
			{zksync.EndSessionExpired, func(s *zksync.Session, h *zksync.Hold) error { return z.Expire(s.ID()) }},
			{zksync.EndClosed, func(s *zksync.Session, h *zksync.Hold) error { return s.Close() }},
		} {
			rec := suite.NewRecorder(t)
			s, p := z.Dial(t, zksync.WithTracer(rec.Tracer())), z.Path(t)
			h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
			suite.Must(t, err)
			suite.Must(t, tt.end(s, h))
			rec.Tells(t, "HoldEnd", func() bool { return len(rec.Ends) == 1 })
			rec.Mu.Lock()
			// The end of a session deletes the node, and may be seen by that; and a
			// client that takes long to come back has been out of contact first.
			if got := rec.Ends[0].Reason; got != tt.want && (tt.want != zksync.EndSessionExpired ||
				got != zksync.EndNodeDeleted && (got != zksync.EndContactLost || !z.Adapted)) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			rec.Mu.Unlock()
			rec.Balanced(t)
		}
	}, suite.Timeless)
}

// The changes of the connection are reported in order.
func TestSessionEvents(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		first := s.ID()
		suite.Must(t, z.Expire(first))
		suite.Eventually(t, "another session stands", func() bool { return s.Stats().Connects > 1 && s.ID() != first })
		second := s.ID()
		suite.Must(t, s.Close())
		rec.Mu.Lock()
		defer rec.Mu.Unlock()
		var states []string
		for _, e := range rec.Events {
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
