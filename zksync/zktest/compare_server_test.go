//go:build zkcompare

package zktest_test

import (
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// compareEmbedded starts an embedded server that differs from the real one of
// compareReal in nothing that is set up.
func compareEmbedded(t *testing.T) *zktest.Server {
	t.Helper()
	return zktest.Run(t, zktest.WithSessionLimits(500*time.Millisecond, time.Minute), zktest.WithReapInterval(24*time.Hour))
}

// TestServerCompared: whatever a client does, the embedded server answers as a
// real one does, call by call.
func TestServerCompared(t *testing.T) {
	runComparison(t, *compareN, "real ZooKeeper", compareReal, "the embedded server", dialTCP(compareEmbedded(t).Addr()))
}
