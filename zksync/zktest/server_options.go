package zktest

import (
	"log/slog"
	"time"
)

// Option changes the setup of a [Server]. Functions of this package whose names
// start with With return one; of two that contradict each other the last wins. The
// zero value, nil, is not usable. An option may be copied, and shared by servers and
// goroutines.
type Option func(*config)

type config struct {
	tick             time.Duration
	minLimit, maxLim time.Duration // of session timeouts; 0: by the tick
	reap             time.Duration
	seed             uint64
	log              *slog.Logger
}

func newConfig(opts []Option) config {
	c := config{tick: 500 * time.Millisecond, reap: time.Minute, seed: 1}
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

// WithTick sets the tick of a [Server]. A session ends at the first whole tick
// after its timeout. Session timeouts are between 2 and 20 ticks unless
// [WithSessionLimits] says otherwise. The default is 500 ms; less than a
// millisecond counts as one.
func WithTick(d time.Duration) Option { return func(c *config) { c.tick = d } }

// WithSessionLimits sets the shortest and the longest session timeout that a
// [Server] grants. Zero or less means the default, 2 and 20 ticks. If longest is
// less than shortest, shortest is used for both.
func WithSessionLimits(shortest, longest time.Duration) Option {
	return func(c *config) { c.minLimit, c.maxLim = shortest, longest }
}

// WithReapInterval sets how often a [Server] looks for empty container nodes and
// for nodes whose time to live has passed. The default is a minute, as in
// ZooKeeper; less than a millisecond counts as one.
func WithReapInterval(d time.Duration) Option { return func(c *config) { c.reap = d } }

// WithSeed sets the seed of a [Server]'s random choices: the order in which the
// nodes of a session are deleted, jitter, and session passwords. The default is
// 1, so each run of a test draws the same numbers.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithLogger makes a [Server] log to l, at level Debug, the connections and sessions
// that come and go, and every request. l must not block; nil means [slog.Default].
// Without this option a Server does not log.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) {
		if c.log = l; l == nil {
			c.log = slog.Default()
		}
	}
}
