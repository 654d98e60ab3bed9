package costs_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// timed has workers take a lock n times, all together, and returns how long
// that takes.
func timed(b *testing.B, workers, n int, locker func() (lock, unlock func())) time.Duration {
	var left, inside atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	start := time.Now()
	for range workers {
		lock, unlock := locker()
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				lock()
				if inside.Add(1) != 1 {
					b.Error("two hold the lock")
				}
				inside.Add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// zkLocks makes a new zk.Lock for each caller, all on one client.
func zkLocks(b *testing.B, c *zk.Conn, path string) func() (lock, unlock func()) {
	return func() (lock, unlock func()) {
		l := zk.NewLock(c, path, zk.WorldACL(zk.PermAll))
		check := func(f func() error) func() {
			return func() {
				if err := f(); err != nil {
					b.Error(err)
				}
			}
		}
		return check(l.Lock), check(l.Unlock)
	}
}

// BenchmarkOneLock has goroutines of one process compete for one lock. An
// operation is a lock and an unlock of a zk.Lock, and as many of a Mutex as
// ours says, by turns, so that a busy machine slows both; ns/op is the time for
// all of it.
func BenchmarkOneLock(b *testing.B) {
	for _, c := range []struct{ goroutines, ours int }{{1, 1}, {64, 16}} {
		b.Run(fmt.Sprintf("goroutines=%d", c.goroutines), func(b *testing.B) {
			z := suite.Real(b)
			m := zksync.NewMutex(z.Dial(b), z.Path(b))
			mutexes := func() (lock, unlock func()) { return m.Lock, m.Unlock }
			locks := zkLocks(b, z.Raw(b), z.Path(b))
			timed(b, 1, 10, mutexes) // makes the path
			timed(b, 1, 10, locks)
			var mutex, zkLock time.Duration
			b.ResetTimer()
			for left := b.N; left > 0; {
				n := min(left, max(b.N/10, 4*c.goroutines))
				left -= n
				mutex += timed(b, c.goroutines, n*c.ours, mutexes)
				zkLock += timed(b, c.goroutines, n, locks)
			}
			mutexRate := float64(b.N*c.ours) / mutex.Seconds()
			zkLockRate := float64(b.N) / zkLock.Seconds()
			b.ReportMetric(mutexRate, "Mutex/s")
			b.ReportMetric(zkLockRate, "zk.Lock/s")
			b.ReportMetric(mutexRate/zkLockRate, "ratio")
		})
	}
}
