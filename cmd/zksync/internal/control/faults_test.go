package control

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// wantFaults checks the faults in force: each in the order of its fields, without names,
// "delay 1 250ms" being the delay of member 1.
func (r *rig) wantFaults(st Status, want ...string) {
	r.Helper()
	got := make([]string, 0, len(st.Faults))
	for _, f := range st.Faults {
		text := f.Fault
		if f.Member != nil {
			text += fmt.Sprint(" ", *f.Member)
		}
		for _, word := range []string{f.Direction, f.Time, f.What, f.Op, f.Path, f.Below, f.Session} {
			if word != "" {
				text += " " + word
			}
		}
		if f.Count > 0 {
			text += fmt.Sprint(" ", f.Count)
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		r.Errorf("in force: %q, want %q", got, want)
	}
}

// The status has each fault from its begin to its end.
func TestFaultsInForce(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, step := range []struct {
			act  string
			want []string
		}{
			{"refuse?member=1", []string{"refuse 1"}},
			{"blackhole?member=1", []string{"refuse 1", "blackhole 1"}},
			{"accept", []string{"blackhole 1"}},
			{"blackhole?direction=to-client&member=1", []string{"blackhole 1 to-client"}},
			{"blackhole?direction=to-server&member=1", []string{"blackhole 1 to-server"}},
			{"delay?time=0.25&member=2", []string{"blackhole 1 to-server", "delay 2 250ms"}},
			{"jitter?time=1m&member=2", []string{"blackhole 1 to-server", "delay 2 250ms", "jitter 2 1m0s"}},
			{"delay?time=0", []string{"blackhole 1 to-server", "jitter 2 1m0s"}},
			{"heal?member=1", []string{"jitter 2 1m0s"}},
			{"heal", nil},
			{"delay?time=1s", []string{"delay 0 1s", "delay 1 1s", "delay 2 1s"}},
			{"restart", []string{"delay 0 1s", "delay 1 1s", "delay 2 1s"}},
			{"reset", nil},
			{"lag", []string{"lag 0", "lag 1", "lag 2"}},
			{"cut-from-leader?member=2", []string{"lag 0", "lag 1", "lag 2", "cut-from-leader 2"}},
			{"catch-up", []string{"cut-from-leader 2"}},
			{"rejoin-leader?member=2", nil},
			{"refuse?member=0", []string{"refuse 0"}},
			{"stop?member=0", []string{"stop 0", "refuse 0"}},
			{"start?member=0", nil},
			{"refuse", []string{"refuse 0", "refuse 1", "refuse 2"}},
			{"start", []string{"refuse 0", "refuse 1", "refuse 2"}}, // none was stopped
			{"heal", nil},
			{"lose-quorum", []string{"lose-quorum"}},
			{"stop", []string{"lose-quorum", "stop 0", "stop 1", "stop 2"}},
			{"regain-quorum", []string{"stop 0", "stop 1", "stop 2"}},
			{"restart", nil},
			{"drop?what=reply&op=create&path=/a&count=3", []string{"drop reply create /a 3"}},
			{"drop?what=request&below=/b&session=7", []string{"drop reply create /a 3", "drop request /b 0x7 1"}},
			{"restart?expired=true", []string{"drop reply create /a 3", "drop request /b 0x7 1"}},
		} {
			st := r.act("%s", step.act)
			r.wantFaults(st, step.want...)
			var now Status
			if r.get("status", &now); !slices.EqualFunc(st.Faults, now.Faults, func(a, b Fault) bool { return text(t, a) == text(t, b) }) {
				t.Errorf("%s: %+v, and then %+v", step.act, st, now)
			}
		}
		c := r.client(0)
		if _, err := c.Create("/a", nil, 0, world); err == nil {
			t.Error("no reply was lost")
		}
		var st Status
		r.get("status", &st)
		r.wantFaults(st, "drop reply create /a 2", "drop request /b 0x7 1")
	})
}

func text(t *testing.T, f Fault) string {
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each fault of the status is a request that makes it again.
func TestFaultsMakeThemselvesAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, act := range []string{
			"refuse?member=1", "blackhole?direction=to-client&member=0", "blackhole?member=2", "delay?time=1.5&member=1", "jitter?time=3ms&member=2",
			"lag?member=2", "cut-from-leader?member=2", "drop?what=reply&op=create&below=/a&count=2", "drop?what=request&path=/&session=0x5", "stop?member=1",
		} {
			r.act("%s", act)
		}
		before := r.act("forget").Faults
		r.act("reset")
		for _, f := range before {
			var params map[string]any
			r.must(json.Unmarshal([]byte(text(t, f)), &params))
			var query []string
			for name, value := range params {
				if name != "fault" {
					query = append(query, fmt.Sprint(name, "=", value))
				}
			}
			r.act("%s?%s", f.Fault, strings.Join(query, "&"))
		}
		if after := r.act("forget").Faults; len(before) != 10 || !slices.EqualFunc(before, after, func(a, b Fault) bool { return text(t, a) == text(t, b) }) {
			t.Errorf("%+v, and again %+v", before, after)
		}
	})
}

// behind reports whether a member does not show what was written a moment ago.
func (r *rig) behind(c *zk.Conn, path string) bool {
	r.Helper()
	r.must(r.srv.LoadMap(map[string]string{path: ""}))
	shown := make(chan bool, 1)
	go func() {
		is, _, err := c.Exists(path)
		shown <- is && err == nil
	}()
	select {
	case is := <-shown:
		return !is
	case <-time.After(3 * time.Second): // the member lets nobody in: it is cut off
		return true
	}
}

// wantTrueFaults makes requests, and checks after each that a member is behind just when the
// status has a lag or a cut of it.
func (r *rig) wantTrueFaults(acts []string) {
	r.Helper()
	var clients []*zk.Conn
	for i := range 3 {
		clients = append(clients, r.client(i))
	}
	for step, act := range acts {
		if strings.HasPrefix(act, "lead") && (r.leader() == nil || r.stopped[act[len(act)-1]-'0']) {
			continue
		}
		st := r.act("%s", act)
		time.Sleep(6 * time.Second) // the clients are back, where they can
		for i, c := range clients {
			if st.Leader == nil || st.Members[i].Stopped {
				continue
			}
			listed := slices.ContainsFunc(st.Faults, func(f Fault) bool {
				return f.Member != nil && *f.Member == i && (f.Fault == "lag" || f.Fault == "cut-from-leader")
			})
			if is := r.behind(c, fmt.Sprintf("/%d/%d", step, i)); is != listed {
				r.Fatalf("after %q: member %d is behind: %v, in force %+v", acts[:step+1], i, is, st.Faults)
			}
		}
	}
}

// Whatever ends a lag or a cut, elections among them, the status says so.
func TestFaultsInForceAreTrue(t *testing.T) {
	programs := [][]string{
		{"lag?member=1", "cut-from-leader?member=1", "lead?member=2", "rejoin-leader", "lead?member=0"}, // the first election is without member 1
		{"lag", "stop?member=0", "start", "cut-from-leader?member=0", "lag?member=0", "lead?member=0"},
	}
	acts := []string{
		"lag?member=1", "lag?member=2", "lag", "cut-from-leader?member=1", "cut-from-leader?member=2", "catch-up", "catch-up?member=1",
		"rejoin-leader", "rejoin-leader?member=2", "lead?member=0", "lead?member=1", "lead?member=2", "restart", "restart?member=1",
		"restart?expired=true", "stop?member=0", "start", "lose-quorum", "regain-quorum", "heal", "heal?member=2", "reset",
	}
	for seed := range uint64(20) {
		rng, program := rand.New(rand.NewPCG(seed, 0)), []string(nil)
		for range 12 {
			program = append(program, acts[rng.IntN(len(acts))])
		}
		programs = append(programs, program)
	}
	for _, program := range programs {
		inBubble(t, func(r *rig) { r.wantTrueFaults(program) })
	}
}

// A client that takes the leader out of the configuration makes an election too.
func TestFaultsInForceAfterAReconfig(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.srv = zktest.Run(r.T, zktest.WithReconfig(), zktest.WithSuperDigest("xQJmxLMiHGwaqBvst5y6rkB6HQs=")) // of super:admin
		r.srv.AddMember()
		r.Control = New(r.srv, []string{"127.0.0.1:1", "127.0.0.1:2"})
		r.handler = Guard(r.Control)
		c := r.client(1)
		r.must(c.AddAuth("digest", []byte("super:admin")))
		r.wantFaults(r.act("lag"), "lag 0", "lag 1")
		if _, err := c.IncrementalReconfig(nil, []string{"1"}, -1); err != nil {
			t.Logf("the answer: %v", err) // the connection may end first
		}
		time.Sleep(2 * time.Second)
		var st Status
		r.get("status", &st)
		r.wantLeader(st, 1)
		r.wantFaults(st)
		r.wantFaults(r.act("lag?member=0"), "lag 0")
		r.wantFaults(r.act("forget"), "lag 0")
	})
}
