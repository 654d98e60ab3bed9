package ensemble_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestExpire(t *testing.T) {
	suite.Long(t)
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("servers=%d", n), func(t *testing.T) {
			e := ensemble.Run(t, n)
			other, otherEvents := connect(t, 30*time.Second, e.Addr(0))
			create(t, other, "/other", zk.FlagEphemeral)
			id := other.SessionID()
			leader, _ := connect(t, 30*time.Second, e.Addr(e.Leader()))
			for i := range 5 {
				conn, events := connect(t, 30*time.Second, e.Addr(i%n))
				path := fmt.Sprintf("/mine-%d", i)
				create(t, conn, path, zk.FlagEphemeral)
				start := time.Now()
				must(t, e.Expire(conn.SessionID()))
				took := time.Since(start)
				if exists(t, leader, path) {
					t.Error("the session's node is still there")
				}
				awaitState(t, events, zk.StateExpired)
				told := time.Since(start)
				if told > 5*time.Second {
					t.Errorf("gone after %v, client told after %v", took, told)
				}
				t.Logf("gone after %v, client told after %v", took, told)
			}
			if other.SessionID() != id || !exists(t, other, "/other") {
				t.Error("another session was hit")
			}
			for len(otherEvents) > 0 {
				if ev := <-otherEvents; ev.Type == zk.EventSession {
					t.Errorf("another client saw %v", ev)
				}
			}
			must(t, e.Expire(0x1234567890)) // there is no such session
			if err := e.Expire(0); err == nil {
				t.Error("Expire(0): no error")
			}
		})
	}
}
