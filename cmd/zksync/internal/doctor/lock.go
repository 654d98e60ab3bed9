package doctor

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

const (
	cycles    = 20
	cyclesFor = 2 * time.Second // after this time a slow ensemble makes no more

	turnRequests = 4 // of one that makes its path, one after the other
)

// tryLock takes and releases a lock of its own, and asks for containers at its path.
func (d *Doctor) tryLock(ctx context.Context, r *Report, s *zksync.Session) (err error) {
	if r.Path == nil || r.Path.Create != Yes {
		return nil
	}
	conn := s.Conn()
	node := path.Join(r.Path.Nearest, newName())
	defer func() {
		// ctx may have ended. If this fails, the servers delete the empty node.
		ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
		defer cancel()
		_, _ = call(ctx, d, func() (any, error) { return nil, conn.Delete(node, -1) })
	}()
	if err := d.cycle(ctx, r, s, node); err != nil {
		return err
	}
	// The lock has made its path, so this makes nothing as a rule: a server that
	// knows containers says that the node exists.
	_, err = call(ctx, d, func() (string, error) { return conn.CreateContainer(node, nil, zk.FlagContainer, d.acl()) })
	switch {
	case err == nil, errors.Is(err, zk.ErrNodeExists): // nil: the servers have deleted the path already
		r.Path.Containers = Yes
	case err != nil && strings.HasSuffix(err.Error(), " -6"): // unimplemented, for which the client has no name
		r.Path.Containers = No
	}
	return nil
}

// cycle measures a lock that nobody else wants.
func (d *Doctor) cycle(ctx context.Context, r *Report, s *zksync.Session, node string) error {
	mu := zksync.NewMutex(s, node, zksync.WithACL(d.acl()...))
	turn := func() error {
		ctx, cancel := context.WithTimeout(ctx, turnRequests*d.Patience)
		defer cancel()
		if err := mu.LockContext(ctx); err != nil {
			return err
		}
		return mu.UnlockContext(ctx)
	}
	for i, start := 0, time.Now(); i == 0 || i < 3 && time.Since(start) < cyclesFor; i++ { // the first one makes the path
		if err := turn(); err != nil {
			return err
		}
	}
	before := s.Stats().Requests
	var times []time.Duration
	for began := time.Now(); len(times) < cycles && (len(times) == 0 || time.Since(began) < cyclesFor); {
		start := time.Now()
		if err := turn(); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	requests := s.Stats().Requests - before
	slices.Sort(times)
	r.Lock = &Lock{
		Cycles: len(times), Median: times[len(times)/2].Seconds(), Longest: times[len(times)-1].Seconds(),
		Requests: float64(requests) / float64(len(times)),
	}
	return nil
}
