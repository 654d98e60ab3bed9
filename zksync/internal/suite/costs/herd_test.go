package costs_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// crowds are how many sessions wait at a release.
var crowds = []int{1, 10, 50, 100, 200}

// release is what one release of a lock costs all sessions together.
type release struct{ events, requests int64 }

// herd is what releases cost with the naive recipe and with the library, by the number
// of those who wait.
type herd struct{ naive, ours []release }

const (
	costPage    = "docs/cost.md"
	herdPicture = "docs/herd.svg"
)

// With the naive recipe each release wakes all who wait, and each of them lists all. With
// the library it costs the same however many wait. In virtual time nothing comes between,
// so the counts are exact.
func TestHerd(t *testing.T) {
	var h herd
	for _, n := range crowds {
		h.naive = append(h.naive, releaseInVirtualTime(t, n, openNaive))
		h.ours = append(h.ours, releaseInVirtualTime(t, n, openInLine))
	}
	if t.Failed() {
		t.FailNow()
	}
	h.check(t)
	compareOrWrite(t, h)
}

// check checks the law: constant and linear.
func (h herd) check(t *testing.T) {
	t.Helper()
	for i, n := range crowds {
		if h.ours[i] != h.ours[0] {
			t.Errorf("ours, %d wait: %+v, and with one %+v", n, h.ours[i], h.ours[0])
		}
		// All who wait, and the one that releases: its last list has set a watch, too.
		want := release{events: int64(n) + 1, requests: int64(n) + 1}
		if h.naive[i] != want {
			t.Errorf("naive, %d wait: %+v, want %+v", n, h.naive[i], want)
		}
	}
	if o := h.ours[0]; o.events > 2 || o.requests > 3 {
		t.Errorf("ours: %+v for a release", o)
	}
}

// compareOrWrite compares the table and the picture in docs with what was measured.
func compareOrWrite(t *testing.T, h herd) {
	t.Helper()
	picture := suite.RepoFile(t, herdPicture)
	if *update {
		suite.SetPagePart(t, costPage, "herd", h.table())
		suite.Must(t, os.WriteFile(picture, h.draw(), 0o644))
		return
	}
	const again = "go test ./zksync/internal/suite/costs -run TestHerd -update"
	if suite.PagePart(t, costPage, "herd") != h.table() {
		t.Errorf("%s shows another table than\n%swrite it: %s", costPage, h.table(), again)
	}
	drawn, err := os.ReadFile(picture)
	suite.Must(t, err)
	if string(drawn) != string(h.draw()) {
		t.Errorf("%s is another picture; draw it: %s", herdPicture, again)
	}
}

// table returns the counts in markdown.
func (h herd) table() string {
	var b strings.Builder
	b.WriteString("| sessions that wait | naive: events | naive: requests | zksync: events | zksync: requests |\n|---|---|---|---|---|\n")
	for i, n := range crowds {
		fmt.Fprintf(&b, "| %d | %d | %d | **%d** | **%d** |\n", n, h.naive[i].events, h.naive[i].requests, h.ours[i].events, h.ours[i].requests)
	}
	return b.String()
}

// opener opens the session of a waiter.
type opener func(t *testing.T, z *suite.Ground, m *measure.Meter) waiter

func openInLine(t *testing.T, z *suite.Ground, m *measure.Meter) waiter {
	return inLine{z.Dial(t, suite.WithDialer(m.Dial), zksync.WithSessionTimeout(time.Minute))}
}

func openNaive(t *testing.T, z *suite.Ground, m *measure.Meter) waiter {
	c, events, err := zk.Connect(z.Servers, time.Minute, zk.WithLogger(suite.Mute{}), zk.WithLogInfo(false), zk.WithDialer(m.Dial))
	suite.Must(t, err)
	t.Cleanup(func() {
		c.Close()
		suite.Drain(events)
	})
	return naive{c}
}

func releaseInVirtualTime(t *testing.T, n int, open opener) (cost release) {
	t.Helper()
	t.Run(fmt.Sprint(n), func(t *testing.T) {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			m := &measure.Meter{Dialer: z.Server.DialContext}
			cost = releaseOf(t, z, m, n, open, synctest.Wait)
		})
	})
	return cost
}

// releaseOf returns what a release costs while n wait. The release before it does not
// count: the first holder has never waited. settled returns when nothing goes on.
func releaseOf(t *testing.T, z *suite.Ground, m *measure.Meter, n int, open opener, settled func()) release {
	t.Helper()
	p := z.UsedPath(t, z.Dial(t))
	ctx, cancel := context.WithCancel(context.Background())
	held, ended := make(chan func() error), make(chan bool)
	const holders = 2
	for range n + holders {
		w := open(t, z, m)
		go func() {
			defer func() { ended <- true }()
			if unlock, err := w.lock(ctx, p); err == nil {
				held <- unlock
			}
		}()
	}
	unlock := <-held
	settled()
	suite.Must(t, unlock())
	unlock = <-held
	settled()
	before := m.Count()
	suite.Must(t, unlock())
	unlock = <-held
	settled()
	cost := m.Count().Minus(before)
	cancel()
	go func() {
		for range held { // granted while they leave
		}
	}()
	suite.Must(t, unlock())
	for range n + holders {
		<-ended
	}
	close(held)
	return release{cost.Events, cost.Requests}
}

// On a network the law holds as well, but for what the sessions send from time to time.
func TestHerdOnServers(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		for _, n := range []int{1, 10, 50} {
			for name, open := range map[string]opener{"naive": openNaive, "ours": openInLine} {
				m := new(measure.Meter)
				got := releaseOf(t, z, m, n, open, func() { quiet(t, m) })
				t.Logf("%s, %d wait: %+v", name, n, got)
				switch {
				case name == "naive" && (got.events < int64(n) || got.requests < int64(n)):
					t.Errorf("naive, %d wait: %+v", n, got)
				case name == "ours" && (got.events > 3 || got.requests > 4):
					t.Errorf("ours, %d wait: %+v", n, got)
				}
			}
		}
	})
}

// quiet waits until nothing has been sent for a while.
func quiet(t *testing.T, m *measure.Meter) {
	last, since := m.Count(), time.Now()
	suite.Eventually(t, "nothing is sent", func() bool {
		if now := m.Count(); now.Requests != last.Requests || now.Events != last.Events {
			last, since = now, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	})
}
