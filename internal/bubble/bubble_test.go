package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/internal/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// With the race detector and all processors the first of these ends the process.
func TestManyTimersAtATime(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Run("bubbles", func(t *testing.T) {
		for _, name := range []string{"one", "and another"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(*testing.T) { timers() })
			})
		}
	})
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d processors after the bubbles, %d before", n, before)
	}
}

func timers() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100_000 {
				timer := time.NewTimer(0)
				select {
				case <-timer.C:
				default:
				}
				timer.Stop()
			}
		})
	}
	all.Wait()
}
