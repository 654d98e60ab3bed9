package zksync_test

import (
	"context"
	"slices"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A comma in a path can't be told from one between two paths: Paths tells them apart,
// to the program and to its tracer.
func TestPathsOfAMulti(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		var told []zksync.AcquireInfo
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{AcquireStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
			told = append(told, a)
			return ctx
		}}))
		a, b := zksync.NewMutex(s, "/a,b"), zksync.NewRWMutex(s, "/c")
		mu := zksync.NewMulti(zksync.NewMulti(a), b.RLocker())
		want := []string{"/a,b", "/c"}
		got := mu.Paths()
		if !slices.Equal(got, want) || mu.Path() != "/a,b,/c" {
			t.Errorf("paths %q, path %q", got, mu.Path())
		}
		got[0] = "/x" // the caller's own
		suite.Must(t, mu.LockContext(t.Context()))
		mu.Unlock()
		suite.LockAndUnlock(t, a)
		if len(told) != 2 || !slices.Equal(told[0].Paths, want) || told[0].Path != mu.Path() || told[1].Paths != nil || told[1].Path != "/a,b" {
			t.Errorf("the tracer got %+v", told)
		}
		for _, l := range []zksync.Locker{a, b, b.RLocker(), mu, a.As(zksync.NewOwner("x"))} {
			if p := l.Path(); p == "" || p[0] != '/' {
				t.Errorf("%T: path %q", l, p)
			}
		}
	})
}
