package conn

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A connection that came and went before anybody looked was one: the contact is lost.
func TestOutageOfAConnectionThatNobodySaw(t *testing.T) {
	var log bytes.Buffer
	c := &Conn{foreign: new(foreignClient), cfg: Config{Timeout: T, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	c.clock.timeout = T
	o, now := outages{c: c}, time.Now()
	if wait := o.next(State{Session: 1}, now); wait != T/3 {
		t.Errorf("looks again after %v, want %v", wait, T/3)
	}
	o.next(State{Session: 1}, now.Add(T/3))
	if !strings.Contains(log.String(), "the contact with ZooKeeper is lost") {
		t.Error(log.String())
	}
}

// A first connection that was over before anybody looked is told with the next one, once.
func TestConnectedIsToldWithTheNextConnection(t *testing.T) {
	var log bytes.Buffer
	c := &Conn{foreign: new(foreignClient), cfg: Config{Timeout: T, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	c.clock.timeout = T
	o, now := outages{c: c}, time.Now()
	for range 3 {
		o.next(State{Session: 1}, now)
		o.next(State{Session: 1, Up: true}, now.Add(T/10))
	}
	if text := log.String(); strings.Count(text, "level=INFO") != 1 || !strings.Contains(text, `"zksync: connected to ZooKeeper"`) {
		t.Error(text)
	}
}
