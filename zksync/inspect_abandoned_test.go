package zksync_test

import (
	"context"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// readers are what reads queues with more than one request.
var readers = map[string]func(ctx context.Context, s *zksync.Session, p string) error{
	"Inspect": func(ctx context.Context, s *zksync.Session, p string) error { _, err := s.Inspect(ctx, p); return err },
	"InspectTree": func(ctx context.Context, s *zksync.Session, p string) error {
		_, err := s.InspectTree(ctx, p)
		return err
	},
	"Queues": func(ctx context.Context, s *zksync.Session, p string) error {
		for _, err := range s.Queues(ctx, p) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Leader": func(ctx context.Context, s *zksync.Session, p string) error {
		_, err := zksync.NewElection(s, p).Leader(ctx)
		return err
	},
}

// An answer that comes after the caller has left is written nowhere. The race detector
// sees it where it is.
func TestReadsAbandoned(t *testing.T) {
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				s := z.Dial(t)
				m := zksync.NewMutex(s, "/l")
				m.Lock()
				defer m.Unlock()
				const delay = 100 * time.Millisecond
				z.Server.Delay(delay)
				defer z.Server.Heal()
				for limit := delay; ; limit += 2 * delay {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					err := read(ctx, s, "/l")
					cancel()
					time.Sleep(4 * delay) // the answer comes
					if err == nil {
						if limit < 4*delay {
							t.Errorf("answered within %v", limit)
						}
						return
					}
					suite.IsError(t, err, context.DeadlineExceeded)
				}
			})
		})
	}
}
