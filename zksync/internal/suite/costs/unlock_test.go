package costs_test

import (
	"fmt"
	"runtime/metrics"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// created is the number of goroutines that the process has started; known is false with a
// version of Go that does not count them.
func created() (n uint64, known bool) {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(s); s[0].Value.Kind() != metrics.KindUint64 {
		return 0, false
	}
	return s[0].Value.Uint64(), true
}

// An unlock sends the deletion in the goroutine of its caller, and the goroutine that
// reads the answers handles the answer. So it starts none, but some timer may.
func TestAnUnlockStartsNoGoroutine(t *testing.T) {
	if _, known := created(); !known {
		t.Log("this version of Go does not count goroutines")
		return
	}
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		const locks = 200
		s, p := z.Dial(t), z.Path(t)
		sem := zksync.NewSemaphore(s, p, locks)
		var all []func()
		for i := range locks {
			switch i % 3 {
			case 0:
				m := zksync.NewMutex(s, fmt.Sprint(p, "-", i))
				m.Lock()
				all = append(all, m.Unlock)
			case 1:
				rw := zksync.NewRWMutex(s, fmt.Sprint(p, "-", i))
				rw.RLock()
				all = append(all, rw.RUnlock)
			default:
				suite.Must(t, sem.Acquire(suite.Context(t), 1))
				all = append(all, func() { sem.Release(1) })
			}
		}
		before, _ := created()
		for _, unlock := range all {
			unlock()
		}
		suite.AtRest(t, s)
		after, _ := created()
		if n := after - before; n > locks/10 {
			t.Errorf("%d unlocks have started %d goroutines", locks, n)
		}
	})
}
