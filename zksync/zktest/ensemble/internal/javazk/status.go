package javazk

import (
	"fmt"
	"time"
)

// status asks a server what it is. It has no mode if it does not answer.
func (e *Ensemble) status(i int) status {
	answer, err := e.fourLetter(i, "srvr", pollTimeout)
	if err != nil {
		return status{}
	}
	return parseStatus(answer)
}

// survey asks every server that can have a part in a quorum: each one that runs and
// is neither paused nor cut. It returns the leader among them, or -1, and whether
// all of them serve.
func (e *Ensemble) survey() (leader int, serving bool) {
	leader = -1
	var epoch uint64
	up, serve := 0, 0
	for i, s := range e.servers {
		if st := e.state(s); !st.running || st.paused || st.cut && len(e.servers) > 1 {
			continue
		}
		up++
		st := e.status(i)
		if st.mode != "" {
			serve++
		}
		// Two may say that they lead for a moment: the later one does.
		if st.mode == "leader" && (leader < 0 || st.epoch > epoch) {
			leader, epoch = i, st.epoch
		}
	}
	if up < len(e.servers)/2+1 {
		return -1, false
	}
	return leader, leader >= 0 && up == serve
}

// Leader returns the index of the leader, or -1 if there is none. A server that is
// paused or cut does not lead, whatever it says of itself, and the others have a
// leader only if they are a majority.
func (e *Ensemble) Leader() int {
	leader, _ := e.survey()
	return leader
}

// WaitLeader waits for a leader, for at most timeout, and returns its index. After
// the timeout it returns -1 and an error.
func (e *Ensemble) WaitLeader(timeout time.Duration) (int, error) {
	leader := -1
	ok, _ := until(time.Now().Add(timeout), func() (bool, error) {
		leader = e.Leader()
		return leader >= 0, nil
	})
	if !ok {
		return -1, fmt.Errorf("ensemble: no leader after %v", timeout)
	}
	return leader, nil
}

// WaitServing waits until there is a leader and each server that runs, and is
// neither paused nor cut, serves. After the timeout it returns an error.
func (e *Ensemble) WaitServing(timeout time.Duration) error {
	ok, _ := until(time.Now().Add(timeout), func() (bool, error) {
		_, serving := e.survey()
		return serving, nil
	})
	if !ok {
		return fmt.Errorf("ensemble: not every server serves after %v", timeout)
	}
	return nil
}
