package costs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// situation is a way to take and release a lock. It returns what both steps cost.
type situation struct {
	what string
	run  func(w *scene) (acquire, release int64)
}

// scene is where a situation takes place. All requests of the session under test go
// through the meter.
type scene struct {
	t     *testing.T
	z     *suite.Ground
	s     *zksync.Session
	other *zksync.Session
	p     string // a path that has not been used
	meter *measure.Meter
}

// steps returns the requests of two steps.
func (w *scene) steps(acquire, release func() error) (a, r int64) {
	w.t.Helper()
	return w.cost(acquire), w.cost(release)
}

// cost returns the requests of one step.
func (w *scene) cost(step func() error) int64 {
	w.t.Helper()
	synctest.Wait()
	before := w.meter.Count()
	suite.Must(w.t, step())
	synctest.Wait()
	return w.meter.Count().Minus(before).Requests
}

// always turns a function that can't fail into a step.
func always(f func()) func() error { return func() error { f(); return nil } }

// lasting takes and releases a lock until it costs what it costs from then on.
func (w *scene) lasting(lock, unlock func() error) (a, r int64) {
	w.t.Helper()
	for range 3 {
		a, r = w.steps(lock, unlock)
	}
	return a, r
}

// handle returns the steps of a lock with a handle.
func handle(take func(context.Context) (*zksync.Hold, error)) (lock, unlock func() error) {
	var h *zksync.Hold
	return func() (err error) { h, err = take(context.Background()); return err },
		func() error { return h.Release(context.Background()) }
}

func (w *scene) mutex(opts ...zksync.LockOption) *zksync.Mutex {
	return zksync.NewMutex(w.s, w.p, opts...)
}

// situations are the rows of the table in docs/cost.md.
var situations = []situation{
	{"a new path: Lock, Unlock", func(w *scene) (int64, int64) {
		m := w.mutex()
		return w.steps(always(m.Lock), always(m.Unlock))
	}},
	{"a free lock, used before: Lock, Unlock", func(w *scene) (int64, int64) {
		m := w.mutex()
		return w.lasting(always(m.Lock), always(m.Unlock))
	}},
	{"the same by Hold, Release", func(w *scene) (int64, int64) { return w.lasting(handle(w.mutex().Hold)) }},
	{"TryLock, granted", func(w *scene) (int64, int64) {
		m := w.mutex()
		return w.lasting(func() error {
			if !m.TryLock() {
				return zksync.ErrBusy
			}
			return nil
		}, always(m.Unlock))
	}},
	{"TryLock, refused: another session has it", func(w *scene) (int64, int64) {
		theirs := zksync.NewMutex(w.other, w.p)
		theirs.Lock()
		defer theirs.Unlock()
		return w.cost(always(func() { w.mutex().TryLock() })), 0
	}},
	{"the next goroutine of the session takes over", handedOver},
	{"the next session in line, from the Unlock of the holder", func(w *scene) (int64, int64) { return w.turn(0) }},
	{"a session deeper in line, when its turn comes", func(w *scene) (int64, int64) { return w.turn(1) }},
	{"a free read lock: RLock, RUnlock", func(w *scene) (int64, int64) {
		m := zksync.NewRWMutex(w.s, w.p)
		return w.lasting(always(m.RLock), always(m.RUnlock))
	}},
	{"free permits of a Semaphore: Acquire, Release", func(w *scene) (int64, int64) {
		m := zksync.NewSemaphore(w.s, w.p, 5)
		return w.lasting(func() error { return m.Acquire(context.Background(), 2) }, always(func() { m.Release(2) }))
	}},
	{"3 free locks by a Multi: Lock, Unlock", func(w *scene) (int64, int64) {
		var parts []zksync.Locker
		for i := range 3 {
			parts = append(parts, zksync.NewMutex(w.s, fmt.Sprintf("%s/%d", w.p, i)))
		}
		m := zksync.NewMulti(parts...)
		return w.lasting(always(m.Lock), always(m.Unlock))
	}},
	{"zk.Lock, free: Lock, Unlock", func(w *scene) (int64, int64) {
		l := zk.NewLock(w.s.Conn(), w.p, zk.WorldACL(zk.PermAll))
		return w.lasting(l.Lock, l.Unlock)
	}},
}

// handedOver is a lock that passes to a goroutine that waits, for the second time: the
// first time the session may prepare for it.
func handedOver(w *scene) (acquire, release int64) {
	m, held := w.mutex(), make(chan bool)
	m.Lock()
	for range 2 {
		go func() { m.Lock(); held <- true }()
	}
	synctest.Wait()
	m.Unlock()
	<-held
	n := w.cost(always(func() { m.Unlock(); <-held }))
	m.Unlock()
	return n, 0
}

// turn is what a grant costs a session that has waited behind the holder and so many
// other sessions.
func (w *scene) turn(others int) (acquire, release int64) {
	first := zksync.NewMutex(w.other, w.p)
	first.Lock()
	free := make(chan bool)
	for range others {
		next := zksync.NewMutex(w.z.Dial(w.t, zksync.WithSessionTimeout(time.Minute)), w.p)
		go func() { next.Lock(); <-free; next.Unlock() }()
		synctest.Wait()
	}
	m, held := w.mutex(), make(chan bool)
	go func() { m.Lock(); held <- true }()
	return w.steps(always(func() {
		first.Unlock()
		for range others {
			free <- true
		}
		<-held
	}), always(m.Unlock))
}

// The requests of each situation, in virtual time, where nothing else comes between.
func TestSituations(t *testing.T) {
	var b strings.Builder
	b.WriteString("| situation | requests to acquire | to release |\n|---|---|---|\n")
	for _, sit := range situations {
		t.Run(sit.what, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				w := &scene{t: t, z: z, meter: &measure.Meter{Dialer: z.Server.DialContext}}
				w.s, w.other = metered(t, z, w.meter), z.Dial(t, zksync.WithSessionTimeout(time.Minute))
				w.p = z.UsedPath(t, w.other) + "/lock"
				a, r := sit.run(w)
				fmt.Fprintf(&b, "| %s | **%d** | **%d** |\n", sit.what, a, r)
			})
		})
	}
	part(t, "situations", b.String())
}
