package zktest

import (
	"log/slog"
	"strings"
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
	words            map[string]bool // four-letter words that are enabled
	reconfig         bool
	super            string            // its digest, empty: there is none
	users            map[string]string // passwords of SASL by names; nil: no SASL
	log              *slog.Logger
}

func newConfig(opts []Option) config {
	c := config{tick: 500 * time.Millisecond, reap: time.Minute, seed: 1, words: allowWords(nil)}
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

// WithSeed sets the seed of a [Server]'s random choices: session passwords, the order in
// which the nodes of a session are deleted, jitter and loss. They depend on the seed, and
// on the number of the session or the connection, and on nothing else. The default is 1,
// so each run of a test draws the same numbers.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithFourLetterWords enables ZooKeeper's four-letter words, such as "ruok" and "mntr",
// on connections to a [Server]; "*" enables all. The others get ZooKeeper's sentence that
// they are not in the whitelist. The word srvr is always enabled, and without this option
// the only one, as in ZooKeeper. The package comment lists the words.
func WithFourLetterWords(words ...string) Option {
	set := allowWords(words)
	return func(c *config) { c.words = set }
}

// WithReconfig lets clients change the servers of the ensemble (reconfigEnabled in
// ZooKeeper). They need the permission to write "/zookeeper/config", which the super
// user has ([WithSuperDigest]). Without this option a reconfig is answered with
// ReconfigDisabled.
//
// The configuration has server.1 for Member(0), and so on; that of an only member is of
// a quorum of one (standaloneEnabled=false in ZooKeeper). A member that is added
// after the first transaction is not in it until a client has it join. The server
// counts as up, for the quorum of a new configuration, a member that is not cut from
// the leader, whether or not it is in the configuration. Addresses in the
// configuration are only text; those of members that clients have not changed are
// [Member.Addr], or 127.0.0.1:2181 for Member(0), 127.0.0.2:2181 for Member(1), and so
// on while a member has no port.
func WithReconfig() Option { return func(c *config) { c.reconfig = true } }

// WithSuperDigest sets the digest of the user "super", who may do everything. The
// digest is the base64 form of the SHA-1 of "super:password". The default is none.
func WithSuperDigest(digest string) Option {
	digest = "super:" + strings.TrimPrefix(digest, "super:")
	return func(c *config) { c.super = digest }
}

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
