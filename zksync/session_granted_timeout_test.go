package zksync_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// grantedTimeout is the session timeout that the servers of these tests grant to whoever
// asks for more.
const grantedTimeout = 10 * time.Second

// members returns a dialer to servers of one ensemble, and their addresses.
func members(all ...*zktest.Member) (zk.Dialer, []string) {
	at := make(map[string]*zktest.Member)
	var servers []string
	for i, d := range all {
		addr := fmt.Sprintf("10.0.0.%d:2181", i+1)
		at[addr] = d
		servers = append(servers, addr)
	}
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		return at[addr].Dial(network, addr, timeout)
	}, servers
}

// A silent server costs a hold little of the time it has by the session timeout
// that was granted, however long the one is that was asked for.
func TestHoldSurvivesASilentServerWhateverWasAskedFor(t *testing.T) {
	for _, asked := range []time.Duration{grantedTimeout, time.Minute, 10 * time.Minute, 24 * time.Hour} {
		t.Run(asked.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				srv := zktest.Run(t, zktest.WithSessionLimits(time.Second, grantedTimeout))
				good, silent := srv.AddMember(), srv.AddMember()
				dial, servers := members(good, silent)
				silent.Refuse()
				s := suite.DialTo(t, servers, suite.WithDialer(dial), zksync.WithSessionTimeout(asked))
				h, err := zksync.NewMutex(s, "/l").Hold(suite.Context(t))
				suite.Must(t, err)
				silent.Heal()
				silent.Blackhole()
				id := s.ID()
				for range 5 {
					time.Sleep(grantedTimeout / 12)
					good.Disconnect(id)
					start := time.Now()
					suite.Must(t, s.Ping(suite.Context(t)))
					if took := time.Since(start); took > grantedTimeout/6 {
						t.Errorf("connected again after %v", took)
					}
					suite.Must(t, h.Err())
				}
				if s.ID() != id || s.Timeout() != grantedTimeout {
					t.Errorf("session %#x of %v, was %#x of %v", s.ID(), s.Timeout(), id, grantedTimeout)
				}
				silent.Heal()
				suite.Must(t, h.Release(suite.Context(t)))
			})
		})
	}
	t.Run("Network", func(t *testing.T) {
		suite.Long(t)
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			good, silent := z.Proxied(t), z.Proxied(t)
			silent.Refuse()
			s := suite.DialTo(t, []string{good.Addr(), silent.Addr()}, zksync.WithSessionTimeout(10*time.Minute))
			h, err := zksync.NewMutex(s, z.Path(t)).Hold(suite.Context(t))
			suite.Must(t, err)
			silent.Heal()
			silent.Blackhole()
			id := s.ID()
			good.DisconnectAll()
			suite.Eventually(t, "the healthy server is used again", func() bool { return s.Stats().Connects == 2 })
			suite.Must(t, s.Ping(suite.Context(t)))
			suite.Must(t, h.Err())
			if s.ID() != id {
				t.Error("another session")
			}
			silent.DisconnectAll()
			silent.Heal()
			suite.Must(t, h.Release(suite.Context(t)))
		})
	})
}

// A first dial waits a few seconds at most for each silent server, whatever
// session timeout it asks for.
func TestDialPassesSilentServers(t *testing.T) {
	for _, asked := range []time.Duration{time.Second, grantedTimeout, time.Minute, 24 * time.Hour} {
		t.Run(asked.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				srv := zktest.Run(t)
				good, silent := srv.AddMember(), srv.AddMember()
				dial, servers := members(silent, good, silent)
				silent.Blackhole()
				for range 20 { // in whatever order the servers are tried
					start := time.Now()
					suite.DialTo(t, servers, suite.WithDialer(dial), zksync.WithSessionTimeout(asked))
					if took := time.Since(start); took > 2*3*time.Second {
						t.Errorf("took %v, two servers of three are silent", took)
					}
				}
				silent.Heal()
			})
		})
	}
	// All are silent for a long time. The first one to recover is tried soon, and
	// a slow one is reached.
	t.Run("Recovered", func(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			srv := zktest.Run(t)
			slow, silent := srv.AddMember(), srv.AddMember()
			dial, servers := members(silent, slow)
			srv.Blackhole()
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			dialled := suite.Async(func() error {
				s, err := zksync.Dial(ctx, servers, suite.WithDialer(dial), zksync.WithSessionTimeout(10*time.Minute))
				if err == nil {
					err = s.Close()
				}
				return err
			})
			time.Sleep(30 * time.Minute)
			slow.Heal()
			slow.Delay(2 * time.Second) // 4 s to an answer
			start := time.Now()
			suite.Must(t, <-dialled)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			silent.Heal()
		})
	})
}

// Dial returns when its ctx ends, whatever it is waiting for, and leaves nothing
// that lasts.
func TestDialEndsWithItsContext(t *testing.T) {
	suite.Beside(t)
	const bound, late = 300 * time.Millisecond, 150 * time.Millisecond
	fails := func(t *testing.T, servers []string, late time.Duration, opts ...zksync.DialOption) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		start := time.Now()
		_, err := zksync.Dial(ctx, servers, opts...)
		suite.IsError(t, err, context.DeadlineExceeded)
		if took := time.Since(start); took > bound+late {
			t.Errorf("took %v, its ctx %v", took, bound)
		}
	}
	for name, fault := range map[string]func(m *zktest.Member){
		"Silent":  func(m *zktest.Member) { m.Blackhole() },
		"Refused": func(m *zktest.Member) { m.Refuse() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				m := zktest.Run(t).AddMember()
				dial, servers := members(m)
				fault(m)
				fails(t, servers, late, suite.WithDialer(dial))
				m.Heal()
			})
		})
	}
	t.Run("StuckDialer", func(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			fails(t, []string{"10.0.0.1"}, late, suite.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
				time.Sleep(time.Minute)
				return nil, suite.ErrInjected
			}))
			time.Sleep(2 * time.Minute) // the background's end
		})
	})
	t.Run("Network", func(t *testing.T) {
		suite.Long(t)
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			p := z.Proxied(t)
			p.Blackhole()
			fails(t, []string{p.Addr()}, suite.Overrun)
		})
	})
}

// A client that has locked up is replaced soon by the session timeout that was
// granted, however long the one is that was asked for.
func TestLockedUpClientIsReplacedWhateverWasAskedFor(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var w suite.Wires
		p, s := z.Behind(t, suite.WithDialer(w.Dial), zksync.WithSessionTimeout(24*time.Hour))
		old := s.Conn()
		suite.Wedge(t, s, p, &w)
		suite.Eventually(t, "the client is replaced", func() bool { return s.Conn() != old })
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t)))
	})
}
