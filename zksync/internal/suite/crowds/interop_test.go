//go:build unix

package crowds_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// victimTimeout is the session timeout of the process that is killed. All the
// others have a long one: whatever the machine does, they don't lose theirs.
const victimTimeout = 2 * time.Second

// mix is who shares a path.
type mix struct {
	name    string
	kind    string   // of the Go programs: mutex, rw, kazoo for one with WithKazooName, multi for such a part of a Multi
	curator bool     // takes part
	kazoo   bool     // takes part
	heed    []string // the names that kazoo looks for
	zkLocks int      // how many of the client library's own locks take part
	victim  string   // whose process is killed while it holds
	apart   []string // languages that know nothing of each other
}

// Programs in Go, Java and Python share a path on real ZooKeeper, and one of them
// is killed as it holds: nobody is ever beside somebody else, the others go on
// once the killed one's session is over and not before, and nobody starves.
//
// Curator and kazoo don't know of each other: where both are, each excludes Go.
func TestRealInterop(t *testing.T) {
	suite.Beside(t)
	languages := map[string]language{"go": goLanguage(), "kazoo": kazooLanguage(t)}
	if suite.IsLong() {
		languages["curator"] = curatorLanguage(t) // compiles it
	}
	crowds := []mix{
		{name: "mutex, Curator", kind: "mutex", curator: true, zkLocks: 2, victim: "curator"},
		{name: "mutex, kazoo that is told", kind: "mutex", kazoo: true, heed: []string{"-lock-"}, zkLocks: 2, victim: "kazoo"},
		{name: "mutex, all of them", kind: "kazoo", kazoo: true, curator: true, victim: "go", apart: []string{"curator", "kazoo"}},
		{name: "a part of a Multi, kazoo", kind: "multi", kazoo: true, victim: "kazoo"},
		{name: "read-write, Curator", kind: "rw", curator: true, victim: "go"},
		{name: "read-write, kazoo that is told", kind: "rw", kazoo: true, heed: []string{"__WRIT__", "__READ__"}, victim: "kazoo"},
	}
	if !suite.IsLong() {
		crowds = crowds[1:2]
	}
	z := suite.Real(t)
	var wg sync.WaitGroup
	for _, c := range crowds { // all at once: each waits for the killed one's session for a long time
		wg.Go(func() { t.Run(c.name, func(t *testing.T) { c.run(t, z, languages) }) })
	}
	wg.Go(func() {
		t.Run("revoke", func(t *testing.T) {
			suite.Long(t)
			languages["curator"].need(t)
			revokes(t, z, languages["curator"])
		})
	})
	wg.Go(func() {
		t.Run("election", func(t *testing.T) {
			suite.Long(t)
			languages["curator"].need(t)
			elects(t, z, languages["curator"])
		})
	})
	wg.Wait()
}

func (c mix) run(t *testing.T, z *suite.Ground, languages map[string]language) {
	total, _ := crowdFor(t)
	p, file := z.Path(t), filepath.Join(t.TempDir(), "held")
	address := z.Servers[0]

	var all []*worker
	join := func(name, process string, timeout time.Duration, clients int) *worker {
		n := startWorker(t, languages[name], file)
		words := []any{"crowd", address, p, c.kind, name + "/" + process, timeout.Milliseconds(), clients}
		if name == "kazoo" {
			for _, h := range c.heed {
				words = append(words, h)
			}
		}
		n.tell(t, words...)
		all = append(all, n)
		return n
	}
	for _, name := range c.languages() {
		if name == "curator" || name == "kazoo" {
			languages[name].need(t)
			join(name, "child", 10*time.Second, 3)
		}
	}
	join("go", "child", 10*time.Second, 1)
	victim := join(c.victim, "victim", victimTimeout, 2)
	for _, n := range all {
		n.answers(t, "works")
	}
	survivors := slices.DeleteFunc(all, func(n *worker) bool { return n == victim })

	// And this process: two sessions, and the client library's locks.
	here := new(goWorker)
	suite.Must(t, here.open(file, func(words ...any) {
		if words[0] == "failed" {
			t.Error(words...)
		}
	}))
	ended := sync.OnceFunc(func() { here.end() })
	t.Cleanup(ended)
	for i := range c.zkLocks {
		raw := z.Raw(t)
		here.wg.Go(func() { here.zkLock(raw, p, fmt.Sprintf("zk.Lock/here.%d", i)) })
	}
	here.crowd(address, p, c.kind, "go/here", 10000, 2, 2)

	begin := time.Now()
	suite.SleepReal(total / 5)
	suite.Eventually(t, "all languages have held the lock", func() bool {
		text, err := os.ReadFile(file)
		suite.Must(t, err)
		return !slices.ContainsFunc(c.languages(), func(name string) bool {
			return !strings.Contains(string(text), " "+name+"/")
		})
	})
	victim.tell(t, "hang")
	victim.answers(t, "hangs")
	killed := time.Now()
	suite.Must(t, victim.Process.Kill())
	for range victim.Lines {
	}
	here.note("killed", "-", c.victim+"/victim")
	// Some of the time is left to those who go on.
	suite.SleepReal(max(time.Until(begin.Add(total)), time.Until(killed.Add(3*time.Second+total/4))))

	for _, n := range survivors {
		n.tell(t, "stop")
	}
	ended()
	done := here.held.Load()
	for _, n := range survivors {
		var held int64
		_, err := fmt.Sscan(n.answers(t, "done"), &held)
		suite.Must(t, err)
		done += held
	}
	c.replay(t, file, done)
	z.Empty(t, p)
}

// languages are those that take part.
func (c mix) languages() []string {
	all := []string{"go"}
	if c.curator {
		all = append(all, "curator")
	}
	if c.kazoo {
		all = append(all, "kazoo")
	}
	if c.zkLocks > 0 {
		all = append(all, "zk.Lock")
	}
	return all
}

// line is one of a crowd's file.
type line struct {
	verb, kind, who string
	at              time.Duration
}

// language and process are what a name of the file begins with.
func (l line) language() string { s, _, _ := strings.Cut(l.who, "/"); return s }

func (l line) process() string { return l.who[:strings.LastIndex(l.who, ".")] }

// replay goes through the lines of a crowd that has ended, of which the processes
// that live on say that they held the lock that often.
func (c mix) replay(t *testing.T, file string, done int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	suite.Must(t, err)
	var (
		now     = map[string]line{}   // who holds
		before  = map[string]int{}    // holds of each language before the kill
		after   = map[string]int{}    // and since somebody followed the killed one
		each    = map[string]int{}    // holds of each client of those who live on
		most    int                   // at a time
		killed  string                // process
		at      time.Duration         // of the kill
		dead    = map[string]bool{}   // its clients that held
		gap     time.Duration         // until somebody followed
		beside  = map[[2]string]int{} // languages of readers that held together
		fumbles int
	)
	for text := range strings.Lines(string(text)) {
		var l line
		if _, err := fmt.Sscan(text, &l.verb, &l.kind, &l.who, &l.at); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		switch l.verb {
		case "killed":
			killed, at = l.who, l.at
			for who, o := range now {
				dead[who] = o.process() == killed
			}
		case "end":
			if now[l.who].kind != l.kind {
				t.Fatalf("%+v: that did not begin", l)
			}
			delete(now, l.who)
			if l.process() != killed && !strings.HasSuffix(l.process(), "/victim") {
				done--
			}
		case "begin":
			for who, o := range now {
				if o.kind == "read" && l.kind == "read" {
					pair := []string{o.language(), l.language()}
					slices.Sort(pair)
					beside[[2]string(pair)]++
					continue
				}
				if slices.Contains(c.apart, o.language()) && slices.Contains(c.apart, l.language()) && o.language() != l.language() {
					continue
				}
				switch {
				case !dead[who]:
					fumbles++
					t.Errorf("%v beside %v", l, o)
				case l.at-at < victimTimeout/2:
					t.Errorf("%v %v after the kill of %v, whose session is not over", l, l.at-at, o)
				}
				if dead[who] {
					gap = max(gap, l.at-at)
					delete(now, who)
				}
			}
			now[l.who] = l
			most = max(most, len(now))
			if killed == "" {
				before[l.language()]++
			} else if gap > 0 {
				after[l.language()]++
			}
			if !strings.HasSuffix(l.process(), "/victim") {
				each[l.who]++
			}
		}
		if fumbles > 10 {
			t.Fatal("and so on")
		}
	}
	for who, l := range now {
		if !dead[who] {
			t.Errorf("%v has no end", l)
		}
	}
	least := slices.Min(slices.Collect(maps.Values(each)))
	t.Logf("holds before the kill of %s %v, afterwards %v (%v later); of the clients %v at least %d; at most %d at a time; readers together %v",
		killed, before, after, gap.Round(time.Millisecond), each, least, most, beside)
	if done != 0 {
		t.Errorf("the processes tell of %d holds more than the file", done)
	}
	clients := 0
	for _, name := range c.languages() {
		clients += map[string]int{"go": 2*2 + 1*2, "curator": 3, "kazoo": 3, "zk.Lock": c.zkLocks}[name]
		if before[name] == 0 || after[name] == 0 {
			t.Errorf("%s: %d holds before the kill, %d after", name, before[name], after[name])
		}
	}
	if len(each) != clients {
		t.Errorf("%d clients held the lock, want all %d: %v", len(each), clients, each)
	}
}

// revokes has Curator ask for a lock of ours, and us for one of Curator's.
func revokes(t *testing.T, z *suite.Ground, curator language) {
	ctx, p, s := suite.Context(t), z.Path(t), z.Dial(t)
	java := startWorker(t, curator, filepath.Join(t.TempDir(), "held"))
	m := zksync.NewMutex(s, p, zksync.WithCancelOnRevoke())

	h, err := m.Hold(ctx)
	suite.Must(t, err)
	select {
	case <-h.Revoked():
		t.Error("revoked by nobody")
	default:
	}
	java.tell(t, "revoke", z.Servers[0], h.Node())
	java.answers(t, "done")
	suite.Receive(t, h.Revoked())
	suite.Must(t, h.Err()) // it is a request and no more

	java.tell(t, "revocable", z.Servers[0], p)
	raw := z.Raw(t)
	suite.InLine(t, raw, p, 2)
	suite.Must(t, h.Release(ctx))
	java.answers(t, "holds")
	q, err := s.Inspect(ctx, p)
	suite.Must(t, err)
	if len(q.Nodes) != 1 || q.Nodes[0].Form != "curator" || !q.Nodes[0].Held {
		t.Fatalf("%+v", q)
	}
	next := suite.Async(func() suite.Grant {
		h, err := m.Hold(ctx)
		return suite.Grant{Hold: h, Err: err}
	})
	suite.InLine(t, raw, p, 2)
	suite.Must(t, s.Revoke(ctx, q.Nodes[0].Node))
	java.answers(t, "revoked")
	java.answers(t, "done")
	g := suite.Receive(t, next)
	suite.Must(t, g.Err)
	suite.Must(t, g.Hold.Release(ctx))

	// Do, which ends when it is asked to.
	in := make(chan *zksync.Hold, 1)
	over := suite.Async(func() error {
		return m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			in <- h
			<-ctx.Done()
			return context.Cause(ctx)
		})
	})
	java.tell(t, "revoke", z.Servers[0], suite.Receive(t, in).Node())
	java.answers(t, "done")
	if err := suite.Receive(t, over); !errors.Is(err, zksync.ErrRevoked) {
		t.Errorf("Do that was asked to end: %v", err)
	}
	z.Empty(t, p)
}
