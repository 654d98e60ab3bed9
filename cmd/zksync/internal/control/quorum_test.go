package control

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// wantLeader checks who leads; -1 means that there is no quorum.
func (r *rig) wantLeader(st Status, want int) {
	r.Helper()
	got := -1
	if st.Leader != nil {
		got = *st.Leader
	}
	if got != want {
		r.Errorf("member %d leads, want %d", got, want)
	}
}

// The members that are left elect a leader if they are more than half of all, else they
// serve nobody, and no session ends.
func TestStopTakesTheQuorum(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(2)
		id := c.SessionID()
		r.wantLeader(r.act("stop?member=1"), 0)
		r.wantLeader(r.act("start?member=1"), 0)
		r.wantLeader(r.act("stop?member=0"), 1)
		r.wantLeader(r.act("start?member=0"), 1)
		time.Sleep(2 * time.Second)
		r.wantCounts(1, 1)

		r.act("stop?member=1")
		r.wantLeader(r.act("stop?member=0"), -1)
		r.refuses("POST", "lead?member=2", http.StatusConflict, "there is no quorum")
		time.Sleep(time.Hour)
		r.wantCounts(1, 0)
		r.wantLeader(r.act("start?member=0"), 0) // 1 led before
		r.refuses("POST", "lead?member=1", http.StatusConflict, "member 1 is stopped: start it")
		time.Sleep(2 * time.Second)
		if r.wantCounts(1, 1); c.SessionID() != id {
			t.Error("the session has ended")
		}
		r.wantLeader(r.act("heal"), 0)
	})
}

func TestLeadAndQuorum(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		r.refuses("POST", "lead", http.StatusBadRequest, "no member: want the number")
		r.wantLeader(r.act("lead?member=2"), 2)
		for i, end := range []string{"regain-quorum", "heal", "restart", "reset"} {
			r.wantLeader(r.act("lose-quorum"), -1)
			r.act("stop?member=1")
			r.wantLeader(r.act("start?member=1"), -1)
			time.Sleep(time.Minute)
			want := 2
			if end == "reset" {
				want = 0
			}
			r.wantLeader(r.act("%s", end), want)
			time.Sleep(4 * time.Second)
			r.wantCounts(1, 1)
			_, err := c.Create(fmt.Sprint("/", i), nil, 0, world)
			r.must(err)
		}
		r.act("lose-quorum")
		r.wantLeader(r.act("restart?expired=true"), 0)
	})
}
