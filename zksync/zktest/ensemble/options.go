package ensemble

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/javazk"
)

// Option changes the setup of an [Ensemble]'s servers. Functions of this package
// whose names start with With return one; of two that contradict each other the last
// wins. The zero value, nil, is not usable. An option may be copied, and
// shared by ensembles and goroutines.
type Option func(*config)

// config is the configuration that options change. The keys of Lines are
// the names in zoo.cfg, so that WithConfig can override any of them.
type config javazk.Config

func newConfig(opts []Option) javazk.Config {
	c := config(javazk.DefaultConfig())
	for _, opt := range opts {
		opt(&c)
	}
	return javazk.Config(c)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// WithTick sets the tick, in whole milliseconds. Sessions expire at whole ticks,
// and WithSyncLimit counts in ticks. The default is 250 ms, so a session of one
// second has four. The servers grant session timeouts from 500 ms to 60 s with any
// tick; WithConfig changes that (minSessionTimeout, maxSessionTimeout).
func WithTick(d time.Duration) Option {
	return func(c *config) { c.Lines["tickTime"] = millis(d) }
}

// WithSyncLimit sets the number of ticks after which a follower and its leader part
// if they do not hear from each other. A follower that is cut off answers its
// clients that long. The default is 12 ticks, which is 3 s with the default tick.
func WithSyncLimit(ticks int) Option {
	return func(c *config) { c.Lines["syncLimit"] = strconv.Itoa(ticks) }
}

// WithConfig adds lines to every server's zoo.cfg, or replaces lines with the same
// key. The ensemble keeps its own dataDir, clientPort and server lines. Two of its
// defaults are not ZooKeeper's: maxClientCnxns is 0, no limit on the connections from
// one address, and forceSync is "no", which does not wait for the disk at each
// transaction: a server that is killed loses nothing, but a machine that fails does.
// The map is copied.
func WithConfig(lines map[string]string) Option {
	lines = maps.Clone(lines)
	return func(c *config) { maps.Copy(c.Lines, lines) }
}

// WithReapInterval sets how often the servers look for empty container nodes and for
// nodes whose time to live has passed, in whole milliseconds. The default is
// ZooKeeper's, one minute.
func WithReapInterval(d time.Duration) Option {
	return WithJavaFlags("-Dznode.container.checkIntervalMs=" + millis(d))
}

// WithSuperDigest sets the digest of the user "super", which may do everything. The
// digest is the base64 form of the SHA-1 of "super:password". The default is none.
func WithSuperDigest(digest string) Option {
	digest = strings.TrimPrefix(digest, "super:")
	return WithJavaFlags("-Dzookeeper.DigestAuthenticationProvider.superDigest=super:" + digest)
}

// WithJavaFlags adds flags for the Java virtual machine after the ensemble's own,
// for example -D properties. The default is none.
func WithJavaFlags(flags ...string) Option {
	return func(c *config) { c.Flags = append(c.Flags, flags...) }
}
