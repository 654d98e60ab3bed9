//go:build unix

package crowds_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

var chaosFor = flag.Duration("chaos", 0, "how long TestRealExclusionUnderChaos runs (0: 15s, or 60s with ZKSYNC_FULL=1)")

// chaos is what is done to the ensemble and the clients, and how often.
type chaos struct {
	t       *testing.T
	e       *ensemble.Ensemble
	g       *ledger
	workers []*suite.Child
	ctx     context.Context // ends when the chaos does

	aim       atomic.Bool // stop the next process that reads
	hit       chan struct{}
	victim    *suite.Child // before hit is sent to
	kills     int
	cuts      int
	stops     int
	expiries  int
	longStops time.Duration
}

// Exclusion, whatever happens: eight processes of sixteen goroutines each count
// up a number under one lock, while sessions are expired, the leader is killed,
// a follower is cut off from it, and processes are stopped as they hold the lock
// and resumed when another one has had it.
func TestRealExclusionUnderChaos(t *testing.T) {
	suite.Long(t)
	const processes = 8
	long := *chaosFor
	if long == 0 {
		long = 15 * time.Second
		if os.Getenv("ZKSYNC_FULL") == "1" {
			long = time.Minute
		}
	}
	e := ensemble.Run(t, 3, ensemble.WithTick(chaosTick))
	f := &chaos{t: t, e: e, hit: make(chan struct{})}
	f.g = newLedger(t, f.onRead)
	t.Cleanup(f.g.close)
	p := "/suite/chaos"
	for i := range processes {
		f.workers = append(f.workers, suite.StartChild(t, "chaos", "ZKSYNC_TEST_PROCESS", fmt.Sprint(i),
			"ZKSYNC_TEST_SERVERS", strings.Join(e.Addrs(), ","), "ZKSYNC_TEST_PATH", p,
			"ZKSYNC_TEST_LEDGER", f.g.ln.Addr().String()))
	}
	suite.Eventually(t, "the first increments", func() bool { return f.g.taken() > 0 })

	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	f.ctx = ctx
	begin := time.Now()
	var wg sync.WaitGroup
	wg.Go(f.expire)
	wg.Go(f.shake)
	wg.Go(f.pause)
	wg.Wait()
	took := time.Since(begin)
	f.g.stop()
	f.settle(took, p)
}

// settle checks what is left when all is quiet again.
func (f *chaos) settle(took time.Duration, p string) {
	t, g := f.t, f.g
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var sum struct{ acked, late, unaware, lost, unconfirmed, expired, failed int }
	for i, w := range f.workers {
		rest, err := w.Says(ctx, "done")
		if err != nil {
			t.Fatalf("worker %d: %v", i, err)
		}
		var acked, late, unaware, lost, unconfirmed, expired, failed int
		if _, err := fmt.Sscan(rest, &acked, &late, &unaware, &lost, &unconfirmed, &expired, &failed); err != nil {
			t.Fatal(err)
		}
		sum.acked += acked
		sum.late += late
		sum.unaware += unaware
		sum.lost += lost
		sum.unconfirmed += unconfirmed
		sum.expired += expired
		sum.failed += failed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t.Logf("%v under chaos: %d increments confirmed, the counter is %d, %d updates lost", took.Round(time.Millisecond), sum.acked, g.value, g.lost)
	t.Logf("late: %d writes and %d reads tried, all refused; %d writers did not know yet; without fences the counter would be %d",
		g.late, g.lateReads, sum.unaware, g.blind)
	t.Logf("chaos: %d sessions expired by us (%d sessions ended in all), %d leaders killed, %d followers cut, %d holders stopped for %v on average",
		f.expiries, sum.expired, f.kills, f.cuts, f.stops, (f.longStops / time.Duration(max(f.stops, 1))).Round(time.Millisecond))
	t.Logf("holds lost: %d; releases not confirmed in time: %d", sum.lost, sum.unconfirmed)
	switch {
	case sum.failed > 0:
		t.Errorf("%d calls did what must not happen", sum.failed)
	case sum.acked != g.value, g.writes != g.value, g.lost != 0:
		t.Errorf("updates were lost: %d confirmed, %d taken, the counter is %d", sum.acked, g.writes, g.value)
	case g.late+g.lateReads != sum.late:
		t.Errorf("%d late calls refused, %d seen", g.late+g.lateReads, sum.late)
	case g.late+g.lateReads < f.stops:
		t.Errorf("%d late calls refused, after %d stops of a holder", g.late+g.lateReads, f.stops)
	}
	if g.late == 0 || f.kills == 0 || f.cuts == 0 || f.stops == 0 || f.expiries == 0 || sum.acked < 100 {
		t.Error("that was no chaos: it proves nothing")
	}
	// Nothing is in the way of whoever comes next.
	s := suite.DialTo(t, f.e.Addrs(), zksync.WithSessionTimeout(chaosTimeout))
	suite.LockAndUnlock(t, zksync.NewMutex(s, p))
	suite.Eventually(t, "no node is left", func() bool { return len(suite.Children(t, s.Conn(), p)) == 0 })
}

// wait passes some time, and reports whether the chaos goes on.
func (f *chaos) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-f.ctx.Done():
		return false
	}
}

// expire ends sessions, the holder's among them, as if they had timed out.
func (f *chaos) expire() {
	for f.wait(500*time.Millisecond + rand.N(2*time.Second)) {
		if err := f.e.Expire(f.g.session()); err == nil {
			f.expiries++
		} // else there was no leader for a while
	}
}

// shake kills the leader and cuts off a follower, by turns, and mends both.
func (f *chaos) shake() {
	for f.wait(time.Second) {
		leader, err := f.e.WaitLeader(time.Minute)
		if err != nil {
			f.t.Error(err)
			return
		}
		if err := f.e.Kill(leader); err != nil {
			f.t.Error(err)
			return
		}
		f.kills++
		f.wait(time.Second)
		if err := f.e.Start(leader); err != nil {
			f.t.Error(err)
			return
		}
		if err := f.e.WaitServing(time.Minute); err != nil {
			f.t.Error(err)
			return
		}
		if !f.wait(time.Second) && f.cuts > 0 {
			return
		}
		leader, err = f.e.WaitLeader(time.Minute)
		if err != nil {
			f.t.Error(err)
			return
		}
		follower := (leader + 1 + rand.N(2)) % 3
		if err := f.e.Cut(follower); err != nil {
			f.t.Error(err)
			return
		}
		f.cuts++
		// It serves its clients as if nothing were, while their sessions end.
		time.Sleep(chaosTimeout + 2*chaosTick)
		if err := f.e.Heal(follower); err != nil {
			f.t.Error(err)
			return
		}
		if err := f.e.WaitServing(time.Minute); err != nil {
			f.t.Error(err)
			return
		}
	}
}

// pause stops a process that holds the lock until its session is over and
// others have had the lock; then it goes on where it was, and writes.
func (f *chaos) pause() {
	for f.wait(time.Second + rand.N(2*time.Second)) {
		f.aim.Store(true)
		select {
		case <-f.hit:
		case <-f.ctx.Done():
			if f.aim.CompareAndSwap(true, false) {
				return
			}
			<-f.hit
		}
		begin, writes := time.Now(), f.g.taken()
		for f.g.taken() < writes+5 || time.Since(begin) < chaosTimeout {
			time.Sleep(10 * time.Millisecond)
			if time.Since(begin) > time.Minute {
				f.t.Error("nobody has had the lock within a minute after its holder was stopped")
				break
			}
		}
		f.longStops += time.Since(begin)
		if err := f.victim.Process.Signal(syscall.SIGCONT); err != nil {
			f.t.Error(err)
		}
		f.stops++
	}
}

// onRead stops the process that reads, if one is wanted.
func (f *chaos) onRead(process int) {
	if f.aim.CompareAndSwap(true, false) {
		f.victim = f.workers[process]
		if err := standStill(f.victim.Process.Pid); err != nil {
			f.t.Error(err)
		}
		f.hit <- struct{}{}
	}
}

// standStill stops a process, and returns once none of its threads runs: until
// then it might get its answer, and write in time.
func standStill(pid int) error {
	err := syscall.Kill(pid, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	var st syscall.WaitStatus
	for err = syscall.EINTR; err == syscall.EINTR; {
		_, err = syscall.Wait4(pid, &st, syscall.WUNTRACED, nil)
	}
	if err == nil && !st.Stopped() {
		err = fmt.Errorf("process %d has ended: %#x", pid, st)
	}
	return err
}
