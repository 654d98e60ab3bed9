//go:build unix

package crowds_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func init() { suite.Roles["interop"] = interopRole }

// goWorker is the worker in Go: some sessions of this library, each with
// some goroutines.
type goWorker struct {
	crew
	hang     atomic.Bool
	sessions []*zksync.Session
}

// interopRole is the Go worker as a process of its own.
func interopRole() int {
	n := new(goWorker)
	if n.openChild() != nil {
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch word := strings.Fields(lines.Text()); word[0] {
		case "crowd":
			n.crowd(word[1], word[2], word[3], word[4], number(word[5]), number(word[6]), 2)
		case "hang":
			n.hang.Store(true)
		case "stop":
			n.end()
		}
	}
	return 0
}

func number(text string) int { n, _ := strconv.Atoi(text); return n }

// end stops the crowd, and says how often it held.
func (n *goWorker) end() {
	n.stop()
	n.wg.Wait()
	for _, s := range n.sessions {
		if err := s.Close(); err != nil {
			n.failed("close", err)
		}
	}
	n.file.Close()
	n.say("done", n.held.Load())
}

// crowd works with a lock until the word "stop". Every session has some
// goroutines, which hand the lock over to each other.
func (n *goWorker) crowd(address, path, kind, who string, timeout, sessions, each int) {
	for i := range sessions {
		ctx, cancel := context.WithTimeout(n.ctx, workerPatience)
		s, err := zksync.Dial(ctx, []string{address}, zksync.WithSessionTimeout(time.Duration(timeout)*time.Millisecond),
			zksync.WithLogger(slog.New(slog.DiscardHandler)))
		cancel()
		if err != nil {
			n.failed("dial", err)
			return
		}
		n.sessions = append(n.sessions, s)
		var l zksync.Locker
		switch kind {
		case "kazoo":
			l = zksync.NewMutex(s, path, zksync.WithKazooName())
		case "multi":
			l = zksync.NewMulti(zksync.NewMutex(s, path+"-beside"), zksync.NewMutex(s, path, zksync.WithKazooName()))
		case "rw":
			l = zksync.NewRWMutex(s, path)
		default:
			l = zksync.NewMutex(s, path)
		}
		for j := range each {
			n.wg.Go(func() { n.work(l, fmt.Sprintf("%s.%d%c", who, i, 'a'+j)) })
		}
	}
	n.say("works")
}

func (n *goWorker) note(verb, kind, who string) {
	n.write(verb, kind, who, time.Now().UnixNano())
}

// inside holds the lock a while, or until the process is killed.
func (n *goWorker) inside(kind, who string) {
	n.note("begin", kind, who)
	if n.hang.CompareAndSwap(true, false) {
		n.say("hangs", who)
		select {}
	}
	time.Sleep(rand.N(4 * time.Millisecond))
	n.note("end", kind, who)
	n.held.Add(1)
}

func (n *goWorker) work(l zksync.Locker, who string) {
	rw, _ := l.(*zksync.RWMutex)
	for n.ctx.Err() == nil {
		err := error(nil)
		switch {
		case rw == nil:
			err = n.once(l, "write", who)
		case rand.IntN(8) == 0:
			err = n.downgrade(rw, who)
		case rand.IntN(3) == 0:
			err = n.once(rw, "write", who)
		default:
			err = n.once(rw.RLocker(), "read", who)
		}
		if err != nil {
			n.failed(who, err)
		}
		time.Sleep(rand.N(3 * time.Millisecond))
	}
}

// once takes the lock in one of the ways there are.
func (n *goWorker) once(l zksync.Locker, kind, who string) error {
	ctx, cancel := context.WithTimeout(context.Background(), workerPatience)
	defer cancel()
	switch rand.IntN(6) {
	case 0:
		h, err := l.Hold(ctx)
		if err != nil {
			return err
		}
		n.inside(kind, who)
		return errors.Join(h.Err(), h.Release(ctx))
	case 1:
		return l.Do(ctx, func(context.Context, *zksync.Hold) error { n.inside(kind, who); return nil })
	case 2:
		if !l.TryLock() {
			return nil
		}
	case 3: // gives up soon
		soon, cancel := context.WithTimeout(ctx, rand.N(50*time.Millisecond))
		defer cancel()
		err := l.LockContext(soon)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	case 4:
		if err := l.LockContext(ctx); err != nil {
			return err
		}
	default:
		l.Lock()
	}
	n.inside(kind, who)
	return l.UnlockContext(ctx)
}

// downgrade writes, and goes on as a reader: no writer gets in between, so that
// the line of the write's end and that of the read's beginning follow each other.
func (n *goWorker) downgrade(rw *zksync.RWMutex, who string) error {
	ctx, cancel := context.WithTimeout(context.Background(), workerPatience)
	defer cancel()
	ctx = zksync.WithOwner(ctx, zksync.NewOwner(who))
	if err := rw.LockContext(ctx); err != nil {
		return err
	}
	if err := rw.RLockContext(ctx); err != nil {
		return errors.Join(err, rw.UnlockContext(ctx))
	}
	n.inside("write", who)
	n.note("begin", "read", who)
	if err := rw.UnlockContext(ctx); err != nil {
		return err
	}
	time.Sleep(rand.N(4 * time.Millisecond))
	n.note("end", "read", who)
	n.held.Add(1)
	return rw.RUnlockContext(ctx)
}

// zkLock works with a lock of the client library's until the word "stop".
func (n *goWorker) zkLock(c *zk.Conn, path, who string) {
	for n.ctx.Err() == nil {
		l := zk.NewLock(c, path, zk.WorldACL(zk.PermAll))
		if err := l.Lock(); err != nil {
			n.failed(who, err)
			return
		}
		n.inside("write", who)
		if err := l.Unlock(); err != nil {
			n.failed(who, err)
			return
		}
		time.Sleep(rand.N(3 * time.Millisecond))
	}
}
