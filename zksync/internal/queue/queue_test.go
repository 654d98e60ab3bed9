package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func line(names ...string) []znode.Name {
	var l []znode.Name
	for _, n := range names {
		name, ok := znode.Parse(n)
		if !ok {
			panic("not a lock node: " + n)
		}
		l = append(l, name)
	}
	znode.Sort(l)
	return l
}

func TestFirst(t *testing.T) {
	const (
		a = "_c_00000000-0000-8000-8000-000000000001-lock-0000000007"
		b = "_c_00000000-0000-8000-8000-000000000002-lock-0000000009"
		c = "_c_00000000-0000-8000-8000-000000000003-lock-0000000012"
		w = "_c_00000000-0000-8000-8000-000000000004-__WRIT__0000000008"
		p = "_c_00000000-0000-8000-8000-000000000005-permit-2of3-0000000008"
	)
	for _, tc := range []struct {
		line []znode.Name
		own  int
		want Verdict
	}{
		{line(a), 0, Verdict{Held: true}},
		{line(a, b), 0, Verdict{Held: true}},
		{line(a, b), 1, Verdict{Watch: 0, Sole: true}},
		{line(c, b, a), 2, Verdict{Watch: 1}},
		// A write node's end may be a read node's beginning.
		{line(w, b), 1, Verdict{Watch: 0}},
		// And a permit's end that of a part of it.
		{line(p, b), 1, Verdict{Watch: 0}},
	} {
		if got := First(tc.line, tc.own); got != tc.want {
			t.Errorf("First(%v, %d) = %+v, want %+v", tc.line, tc.own, got, tc.want)
		}
	}
}

// Who comes later never blocks: the verdict on a place is the same whatever
// stands behind it.
func TestLaterNodesNeverBlock(t *testing.T) {
	var all []string
	for i := range 6 {
		all = append(all, fmt.Sprintf("_c_%s-lock-%010d", znode.NewGUID(), i))
	}
	for own := range all {
		want := First(line(all[:own+1]...), own)
		for n := own + 1; n <= len(all); n++ {
			if got := First(line(all[:n]...), own); got != want {
				t.Errorf("place %d of %d: %+v, alone %+v", own, n, got, want)
			}
		}
	}
}

func TestAgain(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errLook, true},
		{errAgain, false},
		{zk.ErrConnectionClosed, true},
		{zk.ErrNoServer, true},
		{errors.New("write: broken pipe"), true},
		{conn.ErrNoContact, true},
		{conn.ErrClosed, false},
		{zk.ErrNoAuth, false},
		{ctxEnd{context.Canceled}, false},
		{ctxEnd{errors.New("any cause")}, false},
	} {
		if got := again(tc.err); got != tc.want {
			t.Errorf("again(%v) = %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestPause(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var p pause
		var got []time.Duration
		for range 14 {
			start := time.Now()
			p.wait(context.Background())
			got = append(got, time.Since(start))
		}
		if got[0] != 0 || got[1] != 0 || got[2] != 5*time.Millisecond || got[3] != 10*time.Millisecond || got[13] != time.Second {
			t.Errorf("pauses: %v", got)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		start := time.Now()
		p.wait(ctx)
		if time.Since(start) != 0 {
			t.Error("waited with a done ctx")
		}
	})
}
