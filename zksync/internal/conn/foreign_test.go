package conn

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

// A client is suspected to be closed at the second look in a row that finds it idle,
// and when it has had no session for T/2.
func TestAbsence(t *testing.T) {
	const (
		session = zk.StateHasSession
		dials   = zk.StateConnecting
		idle    = zk.StateDisconnected
	)
	for name, looks := range map[string][]struct {
		at    time.Duration
		state zk.State
		want  bool
	}{
		"Connected":     {{0, session, false}, {T, session, false}, {2 * T, session, false}},
		"Idle":          {{0, session, false}, {1, idle, false}, {2, idle, true}, {3, idle, true}},
		"IdleInBetween": {{0, idle, false}, {1, dials, false}, {2, idle, false}, {3, session, false}, {4, idle, false}},
		"Long":          {{0, dials, false}, {T/2 - 1, dials, false}, {T / 2, dials, true}},
		"Short":         {{0, dials, false}, {T/2 - 1, session, false}, {T / 2, dials, false}, {T - 1, dials, false}, {T, dials, true}},
	} {
		start := time.Now()
		var a absence
		for i, look := range looks {
			if got := a.suspicious(look.state, start.Add(look.at), T); got != look.want {
				t.Errorf("%s: look %d: suspicious %v", name, i, got)
			}
		}
	}
}

// The feed reads the node of a watch that has no channel of its own: first after T/6,
// then every T, until the node has changed.
func TestFeed(t *testing.T) {
	same := &zk.Stat{Mzxid: 5, Pzxid: 5}
	for name, test := range map[string]struct {
		key   watchKey
		stat  *zk.Stat
		err   error
		event zk.EventType // that ends the watch; 0: it goes on
	}{
		"Same":            {dataKey, same, nil, 0},
		"SameChildren":    {childrenKey, same, nil, 0},
		"Error":           {dataKey, nil, zk.ErrConnectionClosed, 0},
		"Gone":            {dataKey, nil, zk.ErrNoNode, zk.EventNodeDeleted},
		"Data":            {dataKey, &zk.Stat{Mzxid: 6, Pzxid: 5}, nil, zk.EventNodeDataChanged},
		"OnlyData":        {childrenKey, &zk.Stat{Mzxid: 6, Pzxid: 5}, nil, 0},
		"Children":        {childrenKey, &zk.Stat{Mzxid: 5, Pzxid: 6}, nil, zk.EventNodeChildrenChanged},
		"OnlyChildren":    {dataKey, &zk.Stat{Mzxid: 5, Pzxid: 6}, nil, 0},
		"ChildrenAndGone": {childrenKey, nil, zk.ErrNoNode, zk.EventNodeDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newWatches()
				w, _, _ := table.get(test.key)
				w.Stat = *same
				start := time.Now()
				var looks []time.Duration
				f := &feed{watches: table, timeout: T, life: t.Context(), start: func(f func()) { go f() },
					stat: func(string) (*zk.Stat, error) {
						if looks = append(looks, time.Since(start)); len(looks) == 3 {
							return test.stat, test.err
						}
						return same, nil
					}}
				f.follow(w, true, nil)
				time.Sleep(4 * T)
				synctest.Wait()
				over, _ := w.Over()
				want := 4
				if test.event != 0 {
					want = 3
				}
				if len(looks) != want || looks[0] != T/6 || looks[2] != T/6+2*T || over != (test.event != 0) || w.event != test.event {
					t.Errorf("looks after %v, over %v with event %v", looks, over, w.event)
				}
				table.close()
			})
		})
	}
}

// The event of a channel ends the watch; the end of the session, which the client
// reports on the channel too, ends it without an event. An error leaves nothing to
// wait for.
func TestFeedOfAChannel(t *testing.T) {
	for name, test := range map[string]struct{ sent, want zk.EventType }{
		"Deleted": {zk.EventNodeDeleted, zk.EventNodeDeleted},
		"Expired": {zk.EventNotWatching, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newWatches()
				f := &feed{watches: table, timeout: T, life: t.Context(), start: func(f func()) { go f() },
					stat: func(string) (*zk.Stat, error) { t.Error("the node is read"); return nil, nil }}
				failed, _, _ := table.get(childrenKey)
				table.answered(failed, 1, errors.New("no answer"), false)
				f.follow(failed, true, nil)
				f.follow(failed, false, nil)

				w, _, _ := table.get(dataKey)
				events := make(chan zk.Event, 1)
				f.follow(w, false, events)
				time.Sleep(T)
				if over, _ := w.Over(); over {
					t.Error("over before its event")
				}
				events <- zk.Event{Type: test.sent}
				synctest.Wait()
				if over, _ := w.Over(); !over || w.event != test.want {
					t.Errorf("over %v, with event %v", over, w.event)
				}
			})
		})
	}
}
