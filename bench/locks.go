package main

import (
	"context"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/zklocker/go-zksync/internal/measure"
)

// teams returns the locks to compare. The library is the first one.
func (s *servers) teams() []*measure.Team {
	target := measure.Target{Servers: []string{s.zookeeper}, Timeout: 10 * time.Second}
	polls := func(delay time.Duration) func(context.Context, int) (measure.Session, error) {
		return func(context.Context, int) (measure.Session, error) { return openRedis(s.redis, delay), nil }
	}
	return []*measure.Team{
		measure.NewTeam(measure.Ours, target),
		measure.NewTeam(measure.OursHold, target),
		measure.NewTeam(measure.ZkLock, target),
		measure.NewForeign("etcd concurrency.Mutex", func(context.Context, int) (measure.Session, error) { return openEtcd(s.etcd) }),
		measure.NewForeign("redsync", polls(0)),
		measure.NewForeign("redsync, retry after 1 ms", polls(time.Millisecond)),
	}
}

// etcdSession is one client of etcd, with a lease.
type etcdSession struct {
	client *clientv3.Client

	mu     sync.Mutex
	leases []*concurrency.Session // guarded by mu
	uses   map[string]int         // guarded by mu; of each path
}

func openEtcd(addr string) (measure.Session, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	return &etcdSession{client: c, uses: make(map[string]int)}, nil
}

// Locker returns a Mutex. Two of one lease at one path do not exclude each other, so each
// user of a path has a lease of its own.
func (s *etcdSession) Locker(path string) (lock, unlock func() error) {
	lease, err := s.lease(path)
	if err != nil {
		fail := func() error { return err }
		return fail, fail
	}
	m := concurrency.NewMutex(lease, path)
	return func() error { return m.Lock(context.Background()) }, func() error { return m.Unlock(context.Background()) }
}

func (s *etcdSession) lease(path string) (*concurrency.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.uses[path]
	s.uses[path]++
	if n < len(s.leases) {
		return s.leases[n], nil
	}
	l, err := concurrency.NewSession(s.client, concurrency.WithTTL(10))
	if err == nil {
		s.leases = append(s.leases, l)
	}
	return l, err
}

// Close ends the leases and the client.
func (s *etcdSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		_ = l.Close()
	}
	return s.client.Close()
}

// redisSession is one client of Redis.
type redisSession struct {
	client *redis.Client
	sync   *redsync.Redsync
	opts   []redsync.Option
}

// openRedis opens a client whose locks poll: after a delay of 50 to 250 ms, redsync's
// default, or after another one. They try until they get the lock, as the other locks do.
func openRedis(addr string, delay time.Duration) measure.Session {
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	s := &redisSession{client: c, sync: redsync.New(goredis.NewPool(c)), opts: []redsync.Option{redsync.WithTries(1 << 30)}}
	if delay > 0 {
		s.opts = append(s.opts, redsync.WithRetryDelay(delay))
	}
	return s
}

// Locker returns a mutex.
func (s *redisSession) Locker(path string) (lock, unlock func() error) {
	m := s.sync.NewMutex(path, s.opts...)
	return m.Lock, func() error { _, err := m.Unlock(); return err }
}

// Close ends the client.
func (s *redisSession) Close() error { return s.client.Close() }
