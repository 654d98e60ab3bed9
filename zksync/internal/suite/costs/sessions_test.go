package costs_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// heap is what the heap takes after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An idle session takes little memory. If the server is embedded, its side is included.
func TestAnIdleSessionTakesLittleMemory(t *testing.T) {
	const sessions, most = 50, 48 << 10
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		if race.Enabled {
			return // the race detector keeps books on every byte
		}
		opened := make([]*zksync.Session, sessions)
		dial := func() (err error) {
			for i := range opened {
				if opened[i], err = zksync.Dial(context.Background(), z.Servers, zksync.WithSessionTimeout(time.Minute)); err != nil {
					return err
				}
				suite.LockAndUnlock(t, zksync.NewMutex(opened[i], z.Path(t)))
			}
			return nil
		}
		suite.Must(t, dial()) // what the process pays once
		suite.CloseAll(t, opened)
		before := heap()
		suite.Must(t, dial())
		each := (heap() - before) / sessions
		t.Logf("%d bytes of heap for each session", each)
		if each > most {
			t.Errorf("%d bytes of heap for each session, want at most %d", each, most)
		}
		suite.CloseAll(t, opened)
	})
}
