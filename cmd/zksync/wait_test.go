package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
)

func TestAnnouncer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		var said []string
		a := &announcer{lock: "/lock", note: func(format string, args ...any) {
			said = append(said, fmt.Sprintf("%v ", time.Since(start))+fmt.Sprintf(format, args...))
		}}
		tell := func(node string, place int) {
			a.blocked(context.Background(), zksync.Peer{LockNode: zksync.LockNode{Node: node, Identity: node, Since: start.Add(-time.Minute)}, Position: place})
		}
		tell("c", 3)
		tell("c", 3) // no news
		time.Sleep(time.Second)
		tell("b", 2) // too soon
		time.Sleep(time.Second)
		tell("a", 1) // in place of b
		time.Sleep(announceEvery)
		tell("a", 1)
		time.Sleep(time.Minute)
		tell("z", 1) // long after
		tell("y", 1)
		tell("z", 1) // as before
		time.Sleep(time.Minute)
		tell("x", 1)
		tell("w", 1)
		a.stop() // held
		time.Sleep(time.Minute)
		tell("v", 1)
		synctest.Wait()
		want := []string{
			"0s waiting for /lock, place 3 in line, behind c, in the queue for 1m0s",
			"5s waiting for /lock, held by a, in the queue for 1m5s",
			"1m7s waiting for /lock, held by z, in the queue for 2m7s",
			"2m7s waiting for /lock, held by x, in the queue for 3m7s",
		}
		if !slices.Equal(said, want) {
			t.Errorf("said %q\nwant %q", said, want)
		}
	})
}

func TestDescribe(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		peer zksync.Peer
		want string
	}{
		{zksync.Peer{LockNode: zksync.LockNode{Node: "/lock/n", Form: zksync.FormCurator, Session: 10}, Position: 1}, "held by an unnamed program (curator, session 0xa)"},
		{zksync.Peer{LockNode: zksync.LockNode{PID: 7}, Position: 1}, "held by (pid 7)"},
		{zksync.Peer{LockNode: zksync.LockNode{Identity: "id", OwnerName: "order 7", Host: "db1", PID: 42, Since: now.Add(-90500 * time.Millisecond)}, Position: 1},
			"held by id for order 7 on db1 (pid 42), in the queue for 1m31s"},
		{zksync.Peer{LockNode: zksync.LockNode{Identity: "id", Since: now.Add(time.Hour)}, Position: 2}, "place 2 in line, behind id, in the queue for 0s"},
		{zksync.Peer{LockNode: zksync.LockNode{Identity: "a\r\x1b[2J\u202eb"}, Position: 1}, "held by a??[2J?b"},
	} {
		if got := describe(tt.peer, now); got != tt.want {
			t.Errorf("got %q\nwant %q", got, tt.want)
		}
	}
}
