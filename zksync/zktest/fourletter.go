package zktest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNotServing is wrapped by the errors of [Ensemble.Metrics] and what builds on
// it when the server has no quorum.
var ErrNotServing = errors.New("zktest: server does not serve")

const notServing = "This ZooKeeper instance is not currently serving requests"

// A server that has just opened its port, or is about to lose or find a leader,
// can swallow a four-letter word or hang up on it: so each question has a short
// limit and is asked again.
const (
	pollTimeout = 500 * time.Millisecond
	askTimeout  = 2 * time.Second
	wordTimeout = 6 * time.Second
)

// ask sends one four-letter word and returns the answer.
func ask(addr, word string, timeout time.Duration) (string, error) {
	deadline := time.Now().Add(timeout)
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	if len(answer) == 0 {
		return "", io.ErrUnexpectedEOF
	}
	return string(answer), nil
}

// FourLetter sends one of ZooKeeper's four-letter words to server i and returns
// its answer as it is. A server that does not run or is paused is an error, and
// so is one that has not answered within six seconds. A server without a quorum
// answers most words with a line that says so.
func (e *Ensemble) FourLetter(i int, word string) (answer string, err error) {
	deadline := time.Now().Add(wordTimeout)
	_, _ = until(deadline, func() (bool, error) { // the answer's error says it better
		answer, err = e.fourLetter(i, word, askTimeout)
		silent := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) ||
			errors.Is(err, syscall.ECONNRESET)
		return !silent, nil
	})
	return answer, err
}

func (e *Ensemble) fourLetter(i int, word string, timeout time.Duration) (string, error) {
	if i < 0 || i >= len(e.servers) {
		return "", fmt.Errorf("zktest: no server %d in an ensemble of %d", i, len(e.servers))
	}
	s := e.servers[i]
	switch st := e.state(s); {
	case !st.running:
		return "", fmt.Errorf("zktest: %q to server %d: it does not run", word, i)
	case st.paused:
		return "", fmt.Errorf("zktest: %q to server %d: it is paused", word, i)
	}
	answer, err := ask(address(s.client), word, timeout)
	if err != nil {
		return "", fmt.Errorf("zktest: %q to server %d: %w", word, i, err)
	}
	return answer, nil
}

// status is what a server says of itself in "srvr".
type status struct {
	mode  string // "leader", "follower", or "" when it does not serve
	epoch uint64 // of its leader: the upper half of the zxid
}

func (e *Ensemble) status(i int) status {
	answer, err := e.fourLetter(i, "srvr", pollTimeout)
	if err != nil {
		return status{}
	}
	var st status
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Mode":
			st.mode = value
		case "Zxid":
			zxid, _ := strconv.ParseUint(value, 0, 64)
			st.epoch = zxid >> 32
		}
	}
	return st
}

// survey asks every server that can have a part in a quorum, those that run and
// are neither paused nor cut, and returns the leader among them, or -1, and
// whether all of them serve.
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

// Leader returns the index of the server that leads, which is 0 for a single
// one, and -1 when there is none. Servers that are paused or cut don't lead, and
// the rest only when it is a majority, whatever they still say of themselves.
func (e *Ensemble) Leader() int {
	leader, _ := e.survey()
	return leader
}

// WaitLeader waits until a server leads, for at most timeout, and returns its
// index, or -1 and an error.
func (e *Ensemble) WaitLeader(timeout time.Duration) (int, error) {
	leader := -1
	ok, _ := until(time.Now().Add(timeout), func() (bool, error) {
		leader = e.Leader()
		return leader >= 0, nil
	})
	if !ok {
		return -1, fmt.Errorf("zktest: no leader after %v", timeout)
	}
	return leader, nil
}

// WaitServing waits until there is a leader and every server serves that runs
// and is neither paused nor cut, for at most timeout.
func (e *Ensemble) WaitServing(timeout time.Duration) error {
	ok, _ := until(time.Now().Add(timeout), func() (bool, error) {
		_, serving := e.survey()
		return serving, nil
	})
	if !ok {
		return fmt.Errorf("zktest: not every server serves after %v", timeout)
	}
	return nil
}
