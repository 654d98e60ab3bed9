package zksync_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// lead is a lead that tells of each term, and ends it as the test says.
type lead struct {
	terms chan term
}

// term is one call of lead.
type term struct {
	ctx context.Context
	h   *zksync.Hold
	end chan<- error
}

func newLead() lead { return lead{make(chan term, 10)} }

func (l lead) lead(ctx context.Context, h *zksync.Hold) error {
	end := make(chan error)
	l.terms <- term{ctx, h, end}
	return <-end
}

// never is a lead that must not be called.
func never(t *testing.T) func(context.Context, *zksync.Hold) error {
	return func(context.Context, *zksync.Hold) error { t.Error("leads"); return nil }
}

// next waits for the next term.
func (l lead) next(t *testing.T) term {
	t.Helper()
	return suite.Receive(t, l.terms)
}

// A leader that returns resigns, and Run returns what it has returned. The next one leads
// then, with a larger fence.
func TestElectionResigns(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		a, b := newLead(), newLead()
		sa, sb := z.Dial(t), z.Dial(t)
		first := suite.Async(func() error { return zksync.NewElection(sa, p).Run(ctx, a.lead) })
		ta := a.next(t)
		second := suite.Async(func() error { return zksync.NewElection(sb, p).Run(ctx, b.lead) })
		suite.InLine(t, z.Raw(t), p, 2)
		suite.NotYet(t, second)
		if len(b.terms) != 0 {
			t.Fatal("two lead")
		}
		if ta.ctx.Err() != nil || ta.h.Err() != nil {
			t.Errorf("%v, %v", ta.ctx.Err(), ta.h.Err())
		}
		ta.end <- errWork
		if err := suite.Receive(t, first); err != errWork {
			t.Errorf("Run returns %v", err)
		}
		tb := b.next(t)
		if tb.h.Fence() <= ta.h.Fence() {
			t.Errorf("fence %d after %d", tb.h.Fence(), ta.h.Fence())
		}
		tb.end <- nil
		suite.Must(t, suite.Receive(t, second))
		if !errors.Is(ta.h.Err(), context.Canceled) || ta.ctx.Err() == nil {
			t.Errorf("after Run: %v, %v", ta.h.Err(), ta.ctx.Err())
		}
	}, suite.Smoke)
}

// After a loss Run waits for lead, whatever that does, and stands again.
func TestElectionStandsAgainAfterALoss(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, cancel := context.WithCancel(suite.Context(t))
		var notes suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&notes, nil))))
		p, l, c := z.Path(t), newLead(), z.Raw(t)
		result := suite.Async(func() error { return zksync.NewElection(s, p).Run(ctx, l.lead) })
		fence := int64(0)
		for name, lose := range map[string]func(h *zksync.Hold) error{
			"deleted": func(h *zksync.Hold) error { return c.Delete(h.Node(), -1) },
			"expired": func(*zksync.Hold) error { return z.Expire(s.ID()) },
		} {
			for _, end := range []error{nil, errWork, context.Canceled, zksync.ErrLost} {
				now := l.next(t)
				if now.h.Fence() <= fence {
					t.Errorf("%s: fence %d after %d", name, now.h.Fence(), fence)
				}
				fence = now.h.Fence()
				suite.Must(t, lose(now.h))
				suite.Receive(t, now.ctx.Done())
				suite.IsError(t, context.Cause(now.ctx), zksync.ErrLost)
				suite.NotYet(t, result)
				if len(l.terms) != 0 {
					t.Error("stands again beside a lead that has not returned")
				}
				now.end <- end
			}
		}
		last := l.next(t)
		cancel()
		suite.Receive(t, last.ctx.Done())
		last.end <- last.ctx.Err()
		if err := suite.Receive(t, result); err != context.Canceled {
			t.Errorf("Run returns %v", err)
		}
		if n := notes.Count("the leader failed"); n != 2 {
			t.Errorf("%d lines of the two errors that nobody else has:\n%s", n, &notes)
		}
	}, suite.Timeless)
}

// A leader that is asked to resign stands again behind the others, whatever it returns.
func TestElectionRevoked(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, opts := range map[string][]zksync.LockOption{"with": {zksync.WithCancelOnRevoke()}, "without": nil} {
			ctx, cancel := context.WithCancel(suite.Context(t))
			s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
			a, b := newLead(), newLead()
			first := suite.Async(func() error { return zksync.NewElection(s, p, opts...).Run(ctx, a.lead) })
			ta := a.next(t)
			second := suite.Async(func() error { return zksync.NewElection(other, p, opts...).Run(ctx, b.lead) })
			suite.InLine(t, z.Raw(t), p, 2)

			suite.Must(t, other.Revoke(ctx, ta.h.Node()))
			suite.Receive(t, ta.h.Revoked())
			if name == "with" {
				suite.Receive(t, ta.ctx.Done())
				suite.IsError(t, context.Cause(ta.ctx), zksync.ErrRevoked)
			} else if ta.ctx.Err() != nil {
				t.Errorf("without the option: %v", ta.ctx.Err())
			}
			suite.Must(t, ta.h.Err())
			ta.end <- context.Cause(ta.ctx)

			tb := b.next(t)
			suite.InLine(t, z.Raw(t), p, 2)
			tb.end <- nil
			suite.Must(t, suite.Receive(t, second))
			again := a.next(t)
			cancel()
			again.end <- nil
			suite.Must(t, suite.Receive(t, first))
		}
	}, suite.Smoke)
}

// A loss or a request that comes while the program ends is no reason to stand again: then
// Run returns as Do does. So it does when the session was closed.
func TestElectionEnds(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, test := range map[string]struct {
			opts []zksync.LockOption
			end  func(t *testing.T, s *zksync.Session, cancel func(), now term)
			want []error // nil: none
		}{
			"ctx": {end: func(_ *testing.T, _ *zksync.Session, cancel func(), _ term) { cancel() }},
			"ctx, and a loss": {end: func(t *testing.T, _ *zksync.Session, cancel func(), now term) {
				cancel()
				suite.DeleteOldest(t, z, parent(now.h))
				suite.Eventually(t, "lost", func() bool { return errors.Is(now.h.Err(), zksync.ErrLost) })
			}, want: []error{zksync.ErrLost}},
			"ctx, and a request": {end: func(t *testing.T, s *zksync.Session, cancel func(), now term) {
				suite.Must(t, s.Revoke(suite.Context(t), now.h.Node()))
				suite.Receive(t, now.h.Revoked())
				cancel()
			}},
			"closed": {end: func(t *testing.T, s *zksync.Session, _ func(), _ term) { suite.Must(t, s.Close()) },
				want: []error{zksync.ErrLost, zksync.ErrClosed}},
			"a Release by lead": {end: func(t *testing.T, _ *zksync.Session, _ func(), now term) {
				suite.Must(t, now.h.Release(suite.Context(t)))
			}},
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(suite.Context(t))
				s, l := z.Dial(t), newLead()
				result := suite.Async(func() error { return zksync.NewElection(s, z.Path(t), test.opts...).Run(ctx, l.lead) })
				now := l.next(t)
				test.end(t, s, cancel, now)
				now.end <- nil
				err := suite.Receive(t, result)
				if test.want == nil {
					suite.Must(t, err)
				} else {
					suite.IsError(t, err, test.want...)
				}
				cancel()
			})
		}
	}, suite.Smoke)
}

// parent is the path of a hold's election.
func parent(h *zksync.Hold) string {
	return h.Node()[:len(h.Node())-len("/_c_00000000-0000-0000-0000-000000000000-lock-0000000000")]
}

// While it waits, Run ends with ctx and with the session, and leaves no node.
func TestElectionEndsWhileItWaits(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		holder := zksync.NewMutex(z.Dial(t), p) // an election is a lock
		holder.Lock()
		s := z.Dial(t)
		e := zksync.NewElection(s, p)
		ctx, cancel := context.WithCancelCause(context.Background())
		result := suite.Async(func() error { return e.Run(ctx, never(t)) })
		suite.InLine(t, z.Raw(t), p, 2)
		cancel(suite.ErrCause)
		if err := suite.IsError(t, suite.Receive(t, result), context.Canceled, suite.ErrCause); err.Op != "elect" || err.Path != p {
			t.Errorf("%#v", err)
		}
		suite.IsError(t, e.Run(suite.DoneContext(), never(t)), context.Canceled)
		suite.InLine(t, z.Raw(t), p, 1)

		// A session that expires in between stands again.
		l := newLead()
		result = suite.Async(func() error { return e.Run(suite.Context(t), l.lead) })
		suite.InLine(t, z.Raw(t), p, 2)
		old := s.ID()
		suite.Must(t, z.Expire(old))
		suite.Eventually(t, "another session stands", func() bool { return s.ID() != old && s.ID() != 0 })
		suite.Must(t, holder.UnlockContext(suite.Context(t)))
		l.next(t).end <- nil
		suite.Must(t, suite.Receive(t, result))

		suite.Must(t, holder.LockContext(suite.Context(t)))
		result = suite.Async(func() error { return e.Run(suite.Context(t), never(t)) })
		suite.InLine(t, z.Raw(t), p, 2)
		suite.Must(t, s.Close())
		suite.IsError(t, suite.Receive(t, result), zksync.ErrClosed)
		suite.IsError(t, e.Run(suite.Context(t), never(t)), zksync.ErrClosed)
		suite.Must(t, holder.UnlockContext(suite.Context(t)))
	}, suite.Timeless)
}

// A lead that panics, or ends its goroutine, gives the leadership up.
func TestElectionPanics(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		e := zksync.NewElection(s, p)
		if v := suite.PanicOf(func() {
			_ = e.Run(suite.Context(t), func(context.Context, *zksync.Hold) error { panic("at work") })
		}); v != "at work" {
			t.Errorf("panics with %v", v)
		}
		gone := make(chan bool)
		go func() {
			defer close(gone)
			_ = e.Run(suite.Context(t), func(context.Context, *zksync.Hold) error { runtime.Goexit(); return nil })
		}()
		suite.Receive(t, gone)
		suite.Must(t, zksync.NewElection(other, p).Run(suite.Context(t), func(context.Context, *zksync.Hold) error { return nil }))
		suite.Panics(t, "zksync: Election.Run with a nil function", func() { _ = e.Run(suite.Context(t), nil) })
		suite.Panics(t, "zksync: NewElection with a nil Session", func() { zksync.NewElection(nil, p) })
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// Calls of one election take turns, also for one owner. A call within lead fails.
func TestElectionRunsAtTheSameTime(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := zksync.WithOwner(suite.Context(t), zksync.NewOwner("both"))
		s := z.Dial(t)
		e, l := zksync.NewElection(s, z.Path(t)), newLead()
		var results []<-chan error
		for range 3 {
			results = append(results, suite.Async(func() error { return e.Run(ctx, l.lead) }))
		}
		fence := int64(0)
		for i := range results {
			now := l.next(t)
			suite.IsError(t, e.Run(context.WithoutCancel(now.ctx), never(t)), zksync.ErrDeadlock)
			suite.AwaitWaiting(t, s, len(results)-1-i)
			if len(l.terms) != 0 || now.h.Fence() <= fence {
				t.Errorf("%d more lead, fence %d after %d", len(l.terms), now.h.Fence(), fence)
			}
			fence = now.h.Fence()
			if o, _ := zksync.OwnerFrom(now.ctx); o.Name() != "both" {
				t.Errorf("owner %v", o)
			}
			now.end <- errWork
		}
		for _, result := range results {
			if err := suite.Receive(t, result); err != errWork {
				t.Errorf("Run returns %v", err)
			}
		}
	}, suite.Smoke)
}
