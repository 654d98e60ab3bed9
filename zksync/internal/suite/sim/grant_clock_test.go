package sim

import (
	"context"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A waiter has proven its session's life to the quorum with its create, and not
// since. If its turn comes when that proof is about to run out, the Hold has to
// outlast the probe that renews it.
func TestHoldGrantedAsTheClockRunsOut(t *testing.T) {
	for early := time.Duration(0); early < 100*time.Millisecond; early += time.Millisecond {
		bubble.Test(t, func(t *testing.T) {
			srv := zktest.New()
			defer srv.Close()
			other, _ := dialTo(t, srv)
			defer other.Close()
			s, member := dialTo(t, srv)
			defer s.Close()
			first, err := zksync.NewRWMutex(other, "/l").Hold(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			member.Delay(10 * time.Millisecond)
			got := make(chan *zksync.Hold, 1)
			go func() {
				h, err := zksync.NewRWMutex(s, "/l").Hold(context.Background())
				if err != nil {
					t.Error(err)
				}
				got <- h
			}()
			time.Sleep(timeout/2 - early)
			if err := first.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			h := <-got
			time.Sleep(timeout)
			if err := h.Err(); err != nil {
				t.Errorf("released %v before half the timeout: %v", early, err)
			}
			_ = h.Release(t.Context())
		})
	}
}
