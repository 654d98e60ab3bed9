package zksync_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// readWrite is what sync.RWMutex is, and ours.
type readWrite interface {
	sync.Locker
	TryLock() bool
	RLock()
	RUnlock()
	TryRLock() bool
	RLocker() sync.Locker
}

// syncs is ours: its RLocker returns a Locker, which is a sync.Locker and more.
type syncs struct{ *zksync.RWMutex }

func (d syncs) RLocker() sync.Locker { return d.RWMutex.RLocker() }

// Each point of the documentation of sync.RWMutex, on theirs and on ours.
func TestRWMutexIsSyncs(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]func(t *testing.T, rw readWrite){
		"readers are together":                  rwReaders,
		"a writer is alone":                     rwWriter,
		"a waiting writer keeps readers out":    rwWaitingWriter,
		"an Unlock lets all readers in":         rwAllReaders,
		"an RUnlock undoes a single RLock":      rwCount,
		"RLocker":                               rwRLocker,
		"TryLock and TryRLock":                  rwTry,
		"a refused try leaves nothing":          rwRefused,
		"unlocked by another goroutine":         rwOther,
		"readers don't become writers":          rwUpgrade,
		"what is written before Unlock is seen": rwMemory,
		"a sync.Cond on the read side":          rwCond,
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t) // they wait rather than work
			t.Run("sync", func(t *testing.T) { t.Parallel(); point(t, &sync.RWMutex{}) })
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				s, p := z.Dial(t), z.Path(t)
				point(t, syncs{zksync.NewRWMutex(s, p)})
				suite.AtRest(t, s)
				z.Empty(t, p)
			}, suite.Timeless)
		})
	}
}

// begun starts a call that has to wait, and lets it come so far: package sync
// does not report that.
func begun(lock func()) <-chan error {
	got := suite.Async(func() error { lock(); return nil })
	suite.SleepReal(50 * time.Millisecond)
	return got
}

func rwReaders(t *testing.T, rw readWrite) {
	var in, out sync.WaitGroup
	in.Add(4)
	for range 4 {
		out.Go(func() {
			rw.RLock()
			in.Done()
			in.Wait() // until all are
			rw.RUnlock()
		})
	}
	suite.Receive(t, suite.Async(func() error { out.Wait(); return nil }))
}

func rwWriter(t *testing.T, rw readWrite) {
	rw.Lock()
	writer, reader := begun(rw.Lock), begun(rw.RLock)
	suite.NotYet(t, writer)
	suite.NotYet(t, reader)
	rw.Unlock()
	for range 2 { // in which order is not said
		select {
		case <-writer:
			suite.NotYet(t, reader)
			rw.Unlock()
			writer = nil
		case <-reader:
			suite.NotYet(t, writer)
			rw.RUnlock()
			reader = nil
		case <-time.After(suite.Patience):
			t.Fatal("nobody got it")
		}
	}
}

func rwWaitingWriter(t *testing.T, rw readWrite) {
	rw.RLock()
	writer := begun(rw.Lock)
	reader := begun(rw.RLock)
	suite.NotYet(t, writer)
	suite.NotYet(t, reader)
	if rw.TryRLock() {
		t.Error("TryRLock past a waiting writer")
	}
	rw.RUnlock()
	suite.Receive(t, writer)
	suite.NotYet(t, reader)
	rw.Unlock()
	suite.Receive(t, reader)
	rw.RUnlock()
}

func rwAllReaders(t *testing.T, rw readWrite) {
	rw.Lock()
	var readers []<-chan error
	for range 4 {
		readers = append(readers, begun(rw.RLock))
	}
	rw.Unlock()
	for _, r := range readers { // nobody has left by then
		suite.Receive(t, r)
	}
	if rw.TryLock() {
		t.Error("a writer beside readers")
	}
	for range readers {
		rw.RUnlock()
	}
}

func rwCount(t *testing.T, rw readWrite) {
	const n = 3
	for range n {
		rw.RLock()
	}
	for range n {
		if rw.TryLock() {
			t.Fatal("a writer beside readers")
		}
		rw.RUnlock()
	}
	if !rw.TryLock() {
		t.Fatal("the last RUnlock has not freed the lock")
	}
	rw.Unlock()
}

func rwRLocker(t *testing.T, rw readWrite) {
	one, two := rw.RLocker(), rw.RLocker()
	one.Lock()
	two.Lock()
	rw.RLock()
	if rw.TryLock() {
		t.Error("RLocker's Lock is no read lock")
	}
	one.Unlock() // the methods are RLock and RUnlock, on whatever value
	one.Unlock()
	rw.RUnlock()
	rw.Lock()
	reader := begun(one.Lock)
	suite.NotYet(t, reader)
	rw.Unlock()
	suite.Receive(t, reader)
	rw.RUnlock()
}

func rwTry(t *testing.T, rw readWrite) {
	try := func(state string, read, write bool) {
		t.Helper()
		if got := rw.TryRLock(); got != read {
			t.Errorf("%s: TryRLock is %v", state, got)
		} else if got {
			rw.RUnlock()
		}
		if got := rw.TryLock(); got != write {
			t.Errorf("%s: TryLock is %v", state, got)
		} else if got {
			rw.Unlock()
		}
	}
	try("free", true, true)
	rw.RLock()
	try("read", true, false)
	writer := begun(rw.Lock)
	try("read, and a writer waits", false, false)
	rw.RUnlock()
	suite.Receive(t, writer)
	try("written", false, false)
	reader := begun(rw.RLock)
	try("written, and a reader waits", false, false)
	rw.Unlock()
	suite.Receive(t, reader)
	try("read after that", true, false)
	rw.RUnlock()
	try("free again", true, true)
	for range 2 {
		if !rw.TryRLock() {
			t.Error("not two readers")
		}
	}
	if rw.TryLock() {
		t.Error("a writer beside them")
	}
	rw.RUnlock()
	rw.RUnlock()
	if !rw.TryLock() || rw.TryRLock() {
		t.Error("not one writer")
	}
	rw.Unlock()
}

func rwRefused(t *testing.T, rw readWrite) {
	rw.RLock()
	for range 5 {
		if rw.TryLock() {
			t.Fatal("a writer beside a reader")
		}
	}
	rw.RLock() // as if nobody had tried
	rw.RUnlock()
	rw.RUnlock()
	rw.Lock()
	for range 5 {
		if rw.TryLock() || rw.TryRLock() {
			t.Fatal("beside a writer")
		}
	}
	rw.Unlock()
	rw.Lock()
	rw.Unlock()
}

func rwOther(t *testing.T, rw readWrite) {
	rw.Lock()
	suite.Receive(t, suite.Async(func() error { rw.Unlock(); return nil }))
	rw.RLock()
	suite.Receive(t, suite.Async(func() error { rw.RUnlock(); return nil }))
	if !rw.TryLock() {
		t.Error("still locked")
	}
	suite.Receive(t, suite.Async(func() error { rw.Unlock(); return nil }))
}

func rwUpgrade(t *testing.T, rw readWrite) {
	rw.RLock()
	if rw.TryLock() {
		t.Fatal("upgraded")
	}
	writer := begun(rw.Lock)
	suite.NotYet(t, writer) // for itself, if it were the reader's
	rw.RUnlock()
	suite.Receive(t, writer)
	if rw.TryRLock() {
		t.Fatal("downgraded")
	}
	rw.Unlock()
}

// The race detector sees whether each Unlock comes before the locks after it.
func rwMemory(t *testing.T, rw readWrite) {
	const n, rounds = 4, 10
	var written, twice int
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range rounds {
				rw.Lock()
				written++
				twice = 2 * written
				rw.Unlock()
				runtime.Gosched()
			}
		})
		wg.Go(func() {
			for range rounds {
				rw.RLock()
				if twice != 2*written {
					t.Errorf("%d is not twice %d", twice, written)
				}
				rw.RUnlock()
				runtime.Gosched()
			}
		})
	}
	suite.Receive(t, suite.Async(func() error { wg.Wait(); return nil }))
	rw.RLock()
	defer rw.RUnlock()
	if written != n*rounds {
		t.Errorf("%d of %d writes", written, n*rounds)
	}
}

func rwCond(t *testing.T, rw readWrite) {
	cond := sync.NewCond(rw.RLocker())
	ready := false
	waits := make(chan struct{}, 3)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cond.L.Lock()
			waits <- struct{}{}
			for !ready {
				cond.Wait()
			}
			cond.L.Unlock()
		})
	}
	for range 3 {
		suite.Receive(t, waits)
	}
	rw.Lock()
	ready = true
	rw.Unlock()
	cond.Broadcast()
	suite.Receive(t, suite.Async(func() error { wg.Wait(); return nil }))
}
