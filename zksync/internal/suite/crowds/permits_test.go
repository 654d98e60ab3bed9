//go:build unix

package crowds_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

const (
	permitLimit  = 10
	permitLarge  = 4                     // the weights are from 1 to this
	permitLife   = 3 * suite.Tick        // session timeout of those that are killed
	permitLocals = 14                    // calls at a time of each of the two sessions of this process
	permitOthers = 18                    // of each of the four others: 100 in all
	permitWork   = 20 * time.Millisecond // how long permits are held, on average

	// permitLate is less than after what time a call looks whether it has missed
	// something: no call needs that.
	permitLate = time.Second
)

// A hundred calls at a time, of weights from 1 to 4, share ten permits, from six
// sessions in five processes, some of which are killed, and some sessions ended
// by the server, as they hold. At no time do those that live hold more than there
// are, together with the killed ones whose session is not over; and whoever is
// first in line has its permits as soon as there are enough.
func TestCrowdOfPermits(t *testing.T) {
	total, _ := crowdFor(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := &permitCrowd{t: t, z: z, p: z.Path(t), file: filepath.Join(t.TempDir(), "held"), over: map[int64]int64{}}
		watch := newPermitWatch(t, z, c.p)
		children := make([]*worker, 4)
		for i := range children {
			children[i] = c.start(fmt.Sprint("child", i))
		}
		hangs := make(chan struct{}, 1)
		here := new(permitWorker)
		suite.Must(t, here.open(c.file, func(words ...any) {
			if words[0] == "hangs" {
				hangs <- struct{}{}
			} else {
				t.Error(words...)
			}
		}))
		ended := sync.OnceFunc(here.end)
		t.Cleanup(ended)
		sessions := map[string]*zksync.Session{"here0": z.Dial(t), "here1": z.Dial(t)}
		for who, s := range sessions {
			here.crowd(s, c.p, who, permitLocals)
		}
		suite.Eventually(t, "each session has nodes in line", func() bool { return watch.most() > 15 })
		for begin := time.Now(); time.Since(begin)+permitLife < total; {
			suite.SleepReal(permitLife/2 + suite.AnyTime(permitLife/4))
			who := fmt.Sprint("here", rand.IntN(2))
			here.hang.Store(&who)
			suite.Receive(t, hangs)
			c.expire(sessions[who])
			suite.SleepReal(suite.AnyTime(permitLife / 8))
			i := rand.IntN(len(children))
			c.kill(children[i])
			children[i] = c.start(fmt.Sprint("child", i, "-", c.kills))
			suite.SleepReal(permitLife) // its nodes are in the way until its session is over
		}
		for _, n := range children {
			n.tell(t, "stop")
		}
		ended()
		for _, n := range children {
			n.answers(t, "works")
			n.answers(t, "done")
		}
		for _, s := range sessions {
			suite.AtRest(t, s)
		}
		z.Empty(t, c.p)
		watch.end()
		c.judge(watch)
	})
}

// permitCrowd is the calls that share permits, and what is done to them.
type permitCrowd struct {
	t       *testing.T
	z       *suite.Ground
	p, file string
	kills   int
	over    map[int64]int64 // sessions that were ended, and when
}

// start starts another process.
func (c *permitCrowd) start(who string) *worker {
	l := goLanguage()
	l.env = "ZKSYNC_TEST_ROLE=permits"
	n := startWorker(c.t, l, c.file)
	n.tell(c.t, c.z.Servers[0], c.p, who)
	return n
}

// expire has the server end a session.
func (c *permitCrowd) expire(s *zksync.Session) {
	c.t.Helper()
	id := s.ID()
	c.over[id] = time.Now().UnixNano()
	suite.Must(c.t, c.z.Expire(id))
}

// kill kills a process that holds permits.
func (c *permitCrowd) kill(n *worker) {
	c.t.Helper()
	n.answers(c.t, "works")
	n.tell(c.t, "hang")
	n.answers(c.t, "hangs")
	suite.Must(c.t, n.Process.Kill())
	for range n.Lines {
	}
	c.kills++
}

// permitLine is a line of the file: somebody begins or ends to hold permits.
type permitLine struct {
	verb    string // begin; end, or lost if the worker learned of the loss
	at      int64  // nanoseconds of the clock: after the grant, before the release
	session int64
	weight  int64
	who     string
	node    string
}

func parsePermit(t *testing.T, text string) (l permitLine) {
	t.Helper()
	if _, err := fmt.Sscan(text, &l.verb, &l.at, &l.session, &l.weight, &l.who, &l.node); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return l
}

// judge goes through what the calls and the watch have seen.
func (c *permitCrowd) judge(w *permitWatch) {
	t := c.t
	t.Helper()
	text, err := os.ReadFile(c.file)
	suite.Must(t, err)
	type change struct {
		at, weight int64
		what       string
	}
	var (
		changes     []change
		begins      = map[string]permitLine{}
		granted     = map[string]int64{}
		died, ended int // holders
		told        int
	)
	span := func(l permitLine, until int64) {
		if until > l.at {
			changes = append(changes, change{l.at, l.weight, l.node}, change{until, -l.weight, l.node})
		}
	}
	for text := range strings.Lines(string(text)) {
		l := parsePermit(t, text)
		if l.verb == "begin" {
			begins[l.node], granted[path.Base(l.node)] = l, l.at
			continue
		}
		begin := begins[l.node]
		delete(begins, l.node)
		until := l.at
		if l.verb == "lost" {
			// Until when is not known. The session lived then, and goes on for
			// the other half of its timeout at least.
			told++
			until = min(until, begin.at+int64(permitLife/2))
		}
		if over, is := c.over[l.session]; is && over < until {
			if ended++; over < begin.at {
				over = begin.at
			}
			until = over
		}
		span(begin, until)
	}
	for node, l := range begins {
		if died++; strings.HasPrefix(l.who, "here") {
			t.Errorf("%+v has no end", l)
		}
		// Whoever was killed counts as long as its node was seen.
		span(l, w.seen[path.Base(node)])
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.weight, b.weight)) })
	sum, most := int64(0), int64(0)
	for _, ch := range changes {
		if sum += ch.weight; sum > permitLimit && ch.weight > 0 {
			t.Errorf("%d of %d permits are held, with %s", sum, permitLimit, ch.what)
		}
		most = max(most, sum)
	}
	t.Logf("%d holds, at most %d permits at a time; %d processes killed, with %d holds; %d sessions ended, with %d holds; %d holds told of their loss; at most %d in line",
		len(granted), most, c.kills, died, len(c.over), ended, told, w.most())
	if most != permitLimit || died < c.kills || ended < len(c.over) {
		t.Error("that proves nothing")
	}
	c.latencies(w, granted, begins)
}

// latencies returns how long it took from enough permits to the grant, for those
// who waited. died are the holds without an end.
func (c *permitCrowd) latencies(w *permitWatch, granted map[string]int64, died map[string]permitLine) {
	var head, next []time.Duration
	for node, since := range w.enough {
		at, is := granted[node]
		if !is {
			continue // it gave up, or died
		}
		if _, is := died[path.Join(c.p, w.before[node])]; is && w.before[node] != "" {
			continue // the one before may have died before it wrote that it had got in
		}
		// Whoever stands behind one that waits, too, has to wait until that
		// one has got in, or gone.
		turn := int64(0)
		if before := w.before[node]; before != "" {
			if turn, is = granted[before]; !is {
				if turn, is = w.gone[before]; !is {
					turn = w.ended
				}
			}
		}
		if d := time.Duration(at - max(since, turn)); turn > since {
			next = append(next, max(0, d))
		} else {
			head = append(head, max(0, d))
		}
	}
	c.t.Logf("from enough permits to the grant of the first in line: %s", histogram(head))
	c.t.Logf("from the grant of the one before to that of the next, where both fit: %s", histogram(next))
	c.t.Logf("one round trip of the same time: %s", histogram(w.trips))
	for _, all := range [][]time.Duration{head, next} {
		if len(all) < 20 {
			c.t.Fatalf("%d grants after a wait: that proves nothing", len(all))
		}
		// Both are sorted now.
		if late := all[len(all)-1]; late > max(permitLate, 2*w.trips[len(w.trips)-1]) {
			c.t.Errorf("permits lay idle for %v", late)
		}
		if usual, trip := all[len(all)/2], w.trips[len(w.trips)/2]; usual > max(permitWork*3/4, 20*trip) {
			c.t.Errorf("permits lie idle for %v as a rule, and a round trip takes %v", usual, trip)
		}
	}
}

// histogram counts durations in classes, each twice as wide as the one before.
func histogram(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(part float64) time.Duration {
		return all[int(part*float64(len(all)-1))].Round(10 * time.Microsecond)
	}
	s := fmt.Sprintf("%d: median %v, 90%% %v, 99%% %v, most %v;", len(all), at(0.5), at(0.9), at(0.99), at(1))
	for i, class := 0, 250*time.Microsecond; i < len(all); class *= 2 {
		n := 0
		for ; i < len(all) && all[i] < class; i++ {
			n++
		}
		if n > 0 {
			s += fmt.Sprintf(" %d<%v", n, class)
		}
	}
	return s
}
