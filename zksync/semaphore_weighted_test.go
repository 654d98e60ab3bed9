package zksync_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// More points of x/sync's Weighted: see TestWeighted.

func weightedWakesAll(t *testing.T, open func(n int64) weighted) {
	w, ctx := open(3), suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 3))
	var all []<-chan error
	for range 3 {
		all = append(all, queued(w, ctx, 1))
	}
	last := queued(w, ctx, 1)
	w.Release(3)
	for _, one := range all { // nobody has left by then
		suite.Must(t, suite.Receive(t, one))
	}
	suite.NotYet(t, last)
	w.Release(1)
	suite.Must(t, suite.Receive(t, last))
	w.Release(3)
}

func weightedErr(t *testing.T, open func(n int64) weighted) {
	w := open(2)
	suite.Must(t, w.Acquire(suite.Context(t), 2))
	for _, n := range []int64{1, 3} { // waiting, and never to be had
		ctx, cancel := context.WithCancelCause(context.Background())
		got := queued(w, ctx, n)
		cancel(suite.ErrCause)
		if err := suite.Receive(t, got); err != context.Canceled {
			t.Errorf("%d: %v is not ctx.Err()", n, err)
		}
		late, stop := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, suite.ErrCause)
		if err := w.Acquire(late, n); err != context.DeadlineExceeded {
			t.Errorf("%d: %v is not ctx.Err()", n, err)
		}
		stop()
	}
	w.Release(2) // and it is as it was
	suite.Must(t, w.Acquire(suite.Context(t), 2))
	w.Release(2)
}

func weightedOther(t *testing.T, open func(n int64) weighted) {
	w := open(3)
	for range 3 {
		suite.Must(t, suite.Receive(t, suite.Async(func() error { return w.Acquire(suite.Context(t), 1) })))
	}
	for _, n := range []int64{2, 1} { // by anybody, in any parts
		suite.Receive(t, suite.Async(func() error { w.Release(n); return nil }))
	}
	if !w.TryAcquire(3) {
		t.Error("not all are back")
	}
	w.Release(3)
}

func weightedMiddle(t *testing.T, open func(n int64) weighted) {
	w, ctx := open(2), suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 2))
	first := queued(w, ctx, 2)
	gone, cancel := context.WithCancel(ctx)
	second := queued(w, gone, 1)
	third := queued(w, ctx, 1)
	cancel()
	if err := suite.Receive(t, second); err != context.Canceled {
		t.Error(err)
	}
	suite.NotYet(t, first)
	suite.NotYet(t, third)
	w.Release(1)
	suite.NotYet(t, third) // the first is before it, and does not fit
	w.Release(1)
	suite.Must(t, suite.Receive(t, first))
	suite.NotYet(t, third)
	w.Release(2)
	suite.Must(t, suite.Receive(t, third))
	w.Release(1)
}

// A grant that races with the end of ctx is either kept or put back.
func weightedRace(t *testing.T, open func(n int64) weighted) {
	w := open(2)
	for range 30 {
		suite.Must(t, w.Acquire(suite.Context(t), 2))
		ctx, cancel := context.WithCancel(context.Background())
		got := suite.Async(func() error { return w.Acquire(ctx, 1) })
		next := suite.Async(func() error { return w.Acquire(suite.Context(t), 1) })
		runtime.Gosched()
		go cancel()
		w.Release(2)
		suite.Must(t, suite.Receive(t, next))
		switch err := suite.Receive(t, got); {
		case err == nil:
			w.Release(2)
		case errors.Is(err, context.Canceled):
			w.Release(1)
		default:
			t.Fatal(err)
		}
		cancel()
		if !w.TryAcquire(2) {
			t.Fatal("permits are missing")
		}
		w.Release(2)
	}
}
