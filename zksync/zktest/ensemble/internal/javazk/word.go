package javazk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// A server that has just opened its port, or is about to lose or find a leader, may
// not answer a four-letter word, or hang up. So each question has a short limit and
// is asked again.
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

// FourLetter sends one of ZooKeeper's four-letter words to server i, and returns the
// answer unchanged. It returns an error if the server does not run, is paused, or
// does not answer within wordTimeout. It asks again after a question that a server
// has swallowed.
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
		return "", fmt.Errorf("ensemble: no server %d in an ensemble of %d", i, len(e.servers))
	}
	s := e.servers[i]
	switch st := e.state(s); {
	case !st.running:
		return "", fmt.Errorf("ensemble: %q to server %d: it does not run", word, i)
	case st.paused:
		return "", fmt.Errorf("ensemble: %q to server %d: it is paused", word, i)
	}
	answer, err := ask(address(s.client), word, timeout)
	if err != nil {
		return "", fmt.Errorf("ensemble: %q to server %d: %w", word, i, err)
	}
	return answer, nil
}
