package zktest

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/javazk"
)

// EnsembleOption changes how the servers of an [Ensemble] are set up. Values
// come from the With functions here; the last of two that contradict each other
// counts. The zero value, nil, is not usable. They may be copied, and shared by
// ensembles and goroutines.
type EnsembleOption func(*ensembleConfig)

// ensembleConfig is what the options change. zoo.cfg's own names are the keys of
// Lines, so that WithConfig may override any of them.
type ensembleConfig javazk.Config

func newEnsembleConfig(opts []EnsembleOption) javazk.Config {
	c := ensembleConfig(javazk.DefaultConfig())
	for _, opt := range opts {
		opt(&c)
	}
	return javazk.Config(c)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// WithTickTime sets the tick, in whole milliseconds: the step in which sessions
// expire, and the unit of WithSyncLimit. The default is 250 ms, so that a session
// of one second has four. Session timeouts from 500 ms to 60 s are granted
// whatever the tick; WithConfig changes that (minSessionTimeout,
// maxSessionTimeout).
func WithTickTime(d time.Duration) EnsembleOption {
	return func(c *ensembleConfig) { c.Lines["tickTime"] = millis(d) }
}

// WithSyncLimit sets for how many ticks a follower and its leader go without
// hearing from each other before they part. A follower that is cut off answers
// its clients that long. The default is 12 ticks: 3 s with the default tick.
func WithSyncLimit(ticks int) EnsembleOption {
	return func(c *ensembleConfig) { c.Lines["syncLimit"] = strconv.Itoa(ticks) }
}

// WithMaxClientCnxns sets how many connections a server takes from one address.
// The default is 0: no limit.
func WithMaxClientCnxns(n int) EnsembleOption {
	return func(c *ensembleConfig) { c.Lines["maxClientCnxns"] = strconv.Itoa(n) }
}

// WithConfig adds lines to every server's zoo.cfg, or replaces those that have
// the same key. dataDir, clientPort and the server lines stay the ensemble's
// own. The map is copied.
func WithConfig(lines map[string]string) EnsembleOption {
	lines = maps.Clone(lines)
	return func(c *ensembleConfig) { maps.Copy(c.Lines, lines) }
}

// WithForceSync makes the servers wait for the disk at each transaction, as in
// production. Without it, the default, nothing is lost when a server is killed,
// only when the machine is.
func WithForceSync() EnsembleOption {
	return func(c *ensembleConfig) { c.Lines["forceSync"] = "yes" }
}

// WithContainerCheck sets how often empty container nodes and nodes whose time
// to live has passed are looked for, in whole milliseconds. ZooKeeper's default
// is one minute.
func WithContainerCheck(d time.Duration) EnsembleOption {
	return WithJavaFlags("-Dznode.container.checkIntervalMs=" + millis(d))
}

// WithSuperDigest sets the digest of the user "super", who may do everything:
// base64 of the SHA-1 of "super:password". The default is none.
func WithSuperDigest(digest string) EnsembleOption {
	digest = strings.TrimPrefix(digest, "super:")
	return WithJavaFlags("-Dzookeeper.DigestAuthenticationProvider.superDigest=super:" + digest)
}

// WithJavaFlags adds flags for the Java virtual machine, behind the ensemble's
// own: -D properties above all. The default is none.
func WithJavaFlags(flags ...string) EnsembleOption {
	return func(c *ensembleConfig) { c.Flags = append(c.Flags, flags...) }
}
