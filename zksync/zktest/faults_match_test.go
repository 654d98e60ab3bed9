package zktest_test

import (
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A bubble's clock goes on while a match waits and another request comes.
func TestMatchThatSleeps(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := open(t, s), open(t, s)
		s.DropRequest(func(zktest.Request) bool {
			time.Sleep(time.Second)
			return false
		})
		a.send(wire.OpExists, "/", false)
		b.send(wire.OpExists, "/", false)
		a.recv()
		b.recv()
	})
}

// A match that has been ended is not called for a request that waited for its turn.
func TestMatchIsNotCalledAfterItsEnd(t *testing.T) {
	for name, end := range map[string]func(*zktest.Server){
		"nil":   func(s *zktest.Server) { s.DropRequest(nil) },
		"Reset": (*zktest.Server).Reset,
	} {
		t.Run(name, func(t *testing.T) {
			s := zktest.Run(t)
			a, b := open(t, s), open(t, s)
			s.ResetRequests()
			in, goOn := make(chan bool, 9), make(chan bool)
			var calls atomic.Int32
			s.DropRequest(func(zktest.Request) bool {
				calls.Add(1)
				in <- true
				<-goOn
				return false
			})
			a.send(wire.OpExists, "/", false)
			<-in
			b.send(wire.OpExists, "/", false)
			for s.Requests()["exists"] < 2 {
				runtime.Gosched()
			}
			end(s)
			close(goOn)
			a.recv()
			b.recv()
			s.Close()
			if n := calls.Load(); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// What a connection has sent before Reset is not counted after it.
func TestResetForgetsRequestsOnTheirWay(t *testing.T) {
	for range 50 {
		s := zktest.New()
		c := open(t, s)
		go func() { _, _ = io.Copy(io.Discard, c.nc) }()
		go func() {
			for range 200 {
				c.send(wire.OpExists, "/", false)
			}
		}()
		for s.Requests()["exists"] < 20 {
			runtime.Gosched()
		}
		s.Reset()
		for range 100 {
			runtime.Gosched()
		}
		n := s.Requests()["exists"]
		s.Close()
		if n != 0 {
			t.Fatalf("%d requests of before", n)
		}
	}
}
