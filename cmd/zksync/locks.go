package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync"
)

// locks is what "zksync run" takes: one lock, several as one, or permits of a semaphore.
type locks struct {
	paths   []string
	shared  bool
	permits int64 // of a semaphore; 0 for a lock
	limit   int64
}

// addFlags adds the flags that say how to take the locks.
func (l *locks) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&l.shared, "shared", "s", false, "share the lock with others that use -s; without -s it is exclusive")
	f.Int64Var(&l.permits, "permits", 0, "take `N` permits of a semaphore (default 1, with --limit)")
	f.Int64Var(&l.limit, "limit", 0, "LOCK is a semaphore, and `M` permits are all that it has")
}

// check checks the paths, and the flags in f.
func (l *locks) check(f *pflag.FlagSet) error {
	for _, path := range l.paths {
		if err := checkPath("LOCK", path); err != nil {
			return err
		}
	}
	permits, limit := f.Changed("permits"), f.Changed("limit")
	if limit && !permits {
		l.permits = 1
	}
	switch {
	case !permits && !limit:
		return nil
	case !limit:
		return exit.Usagef("--permits needs --limit, the permits that the semaphore has in all")
	case l.shared:
		return exit.Usagef("-s is for locks, and --limit for semaphores: choose one")
	case len(l.paths) > 1:
		return exit.Usagef("--limit is for one semaphore: several locks can't be taken together with permits")
	case l.limit < 1:
		return exit.Usagef("--limit %d: want 1 at least", l.limit)
	case l.permits < 1 || l.permits > l.limit:
		return exit.Usagef("--permits %d: want 1 to %d, the --limit", l.permits, l.limit)
	}
	return nil
}

// String returns the paths for messages, and for the command's environment.
func (l *locks) String() string { return strings.Join(l.paths, " ") }

// hold takes the locks on s. It waits for them, unless try is set.
func (l *locks) hold(ctx context.Context, s *zksync.Session, try bool) (*zksync.Hold, error) {
	if l.permits > 0 {
		sem := zksync.NewSemaphore(s, l.paths[0], l.limit)
		if try {
			return sem.TryHold(ctx, l.permits)
		}
		return sem.Hold(ctx, l.permits)
	}
	lock := l.locker(s)
	if try {
		return lock.TryHold(ctx)
	}
	return lock.Hold(ctx)
}

// locker returns the lock, or all locks as one.
func (l *locks) locker(s *zksync.Session) zksync.Locker {
	var all []zksync.Locker
	for _, path := range l.paths {
		if l.shared {
			all = append(all, zksync.NewRWMutex(s, path).RLocker())
		} else {
			all = append(all, zksync.NewMutex(s, path))
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return zksync.NewMulti(all...)
}
