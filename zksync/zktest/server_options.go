package zktest

import (
	"log/slog"
	"time"
)

// ServerOption changes how a [Server] is set up. Values come from the With
// functions here that say so; the last of two that contradict each other counts.
// The zero value, nil, is not usable. They may be copied, and shared by servers
// and goroutines.
type ServerOption func(*serverConfig)

type serverConfig struct {
	tick             time.Duration
	minLimit, maxLim time.Duration // of session timeouts; 0: by the tick
	reap             time.Duration
	seed             uint64
	log              *slog.Logger
}

func newServerConfig(opts []ServerOption) serverConfig {
	c := serverConfig{tick: 500 * time.Millisecond, reap: time.Minute, seed: 1}
	for _, opt := range opts {
		opt(&c)
	}
	c.tick = max(c.tick, time.Millisecond)
	c.reap = max(c.reap, time.Millisecond)
	if c.minLimit <= 0 {
		c.minLimit = 2 * c.tick
	}
	if c.maxLim <= 0 {
		c.maxLim = 20 * c.tick
	}
	// Whole milliseconds travel, and a client can't live with none.
	c.minLimit = max(c.minLimit, time.Millisecond)
	c.maxLim = max(c.maxLim, c.minLimit)
	return c
}

// WithTick sets the tick of a [Server]: sessions end at the first whole tick
// after their timeout, and their timeouts are between 2 and 20 ticks unless
// [WithSessionLimits] says otherwise. The default is 500 ms; less than a
// millisecond counts as one.
func WithTick(d time.Duration) ServerOption { return func(c *serverConfig) { c.tick = d } }

// WithSessionLimits sets the shortest and the longest session timeout that a
// [Server] grants. Zero or less is the default, 2 and 20 ticks. A longest that is
// shorter than the shortest counts as equal to it.
func WithSessionLimits(shortest, longest time.Duration) ServerOption {
	return func(c *serverConfig) { c.minLimit, c.maxLim = shortest, longest }
}

// WithReapInterval sets how often a [Server] looks for empty container nodes and
// for nodes whose time to live has passed. The default is a minute, as in
// ZooKeeper; less than a millisecond counts as one.
func WithReapInterval(d time.Duration) ServerOption { return func(c *serverConfig) { c.reap = d } }

// WithSeed seeds what a [Server] does at random: the order in which the nodes of
// a session go, latencies, session passwords. The default is 1: each run of a
// test draws the same.
func WithSeed(seed uint64) ServerOption { return func(c *serverConfig) { c.seed = seed } }

// WithLog has a [Server] write to l, at level Debug, which connections and
// sessions come and go, and every request. It must not block. The default, nil,
// is no log.
func WithLog(l *slog.Logger) ServerOption { return func(c *serverConfig) { c.log = l } }
