package zksync_test

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// throttles has every answer to a kind of request say that the server has too much to
// do, and counts them.
func throttles(op string) (hook func(ensemble.Frame) ensemble.Action, asked *atomic.Int64) {
	const throttled = -127
	asked = new(atomic.Int64)
	return func(f ensemble.Frame) ensemble.Action {
		if f.FromServer && f.Op == op {
			asked.Add(1)
			code := int32(throttled)
			binary.BigEndian.PutUint32(f.Payload[12:], uint32(code))
		}
		return ensemble.Pass
	}, asked
}

// outdates has every write be at a version that its node does not have.
func outdates() (hook func(ensemble.Frame) ensemble.Action, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return func(f ensemble.Frame) ensemble.Action {
		if !f.FromServer && f.Op == "setData" {
			asked.Add(1)
			binary.BigEndian.PutUint32(f.Payload[len(f.Payload)-4:], 4711)
		}
		return ensemble.Pass
	}, asked
}

// A server that answers that it has too much to do is not asked again without a
// pause, nor one that says each time that somebody else was there before.
func TestCallsPauseForAnAnswerThatSaysNothing(t *testing.T) {
	t.Parallel()
	const (
		while = time.Second
		most  = 20 // with pauses of 5 ms, doubled each time
	)
	for name, c := range map[string]struct {
		op   string // throttled; else the writes are outdated
		call func(ctx context.Context, s *zksync.Session, p, node string) error
	}{
		"Ping": {"multi", func(ctx context.Context, s *zksync.Session, _, _ string) error { return s.Ping(ctx) }},
		"Inspect": {"getChildren2", func(ctx context.Context, s *zksync.Session, p, _ string) error {
			_, err := s.Inspect(ctx, p)
			return err
		}},
		"Break":  {"delete", func(ctx context.Context, s *zksync.Session, _, node string) error { return s.Break(ctx, node) }},
		"Revoke": {"", func(ctx context.Context, s *zksync.Session, _, node string) error { return s.Revoke(ctx, node) }},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				path, raw := z.Path(t), z.Raw(t)
				suite.MakePath(t, raw, path)
				node := suite.Plant(t, raw, path+"/lock-", "", zk.FlagEphemeral|zk.FlagSequence)
				p, s := z.Behind(t)
				hook, asked := outdates()
				if c.op != "" {
					hook, asked = throttles(c.op)
				}
				p.SetHook(hook)
				ctx, cancel := context.WithTimeout(suite.Context(t), while)
				defer cancel()
				suite.IsError(t, c.call(ctx, s, path, node), context.DeadlineExceeded)
				if n := asked.Load(); n < 3 || n > most {
					t.Errorf("%d requests in %v, want at most %d", n, while, most)
				}
				p.SetHook(nil)
			})
		})
	}
}
