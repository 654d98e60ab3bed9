package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Everything at once, through several members: nothing hangs, and in the end the
// tree is whole and nobody's nodes are left.
func TestServerConcurrentSafe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		members := []*zktest.Member{s.AddMember(), s.AddMember(), s.AddMember()}
		setup := open(t, s)
		setup.create("/p", 0)
		setup.ok(wire.OpCloseSession)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { wander(t, members[i%3], uint64(i)) })
		}
		wg.Go(func() { mischief(s, members) })
		wg.Wait()
		time.Sleep(time.Minute) // all sessions end
		whole(t, s, "/")
		if n := len(s.Sessions()); n != 0 {
			t.Errorf("%d sessions", n)
		}
		if got := s.Tree(); got != "/p \"x\"\n" {
			t.Errorf("left behind: %q", got)
		}
		if got := s.Watches(); len(got) != 0 {
			t.Errorf("watches of nobody: %+v", got)
		}
	})
}

// wander is a client that makes nodes in one session after the other.
func wander(t *testing.T, member *zktest.Member, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		nc, err := member.Dial("tcp", "", 0)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		c := &rawConn{t: t, nc: nc}
		nc.SetDeadline(time.Now().Add(5 * time.Second))
		up := c.hello(wire.ConnectRequest{Timeout: 3000})
		for i := 0; up && i < 20; i++ {
			var r reply
			switch rnd.IntN(5) {
			case 0:
				r, _ = c.do(wire.OpGetChildren, "/p", true)
			case 1:
				r, _ = c.do(wire.OpAddWatch, "/p", 1)
			case 2:
				r, _ = c.do(wire.OpSync, "/p")
			default:
				r, _ = c.do(wire.OpCreate, crt(fmt.Sprint("/p/n", seed, "-"), seq|eph)...)
			}
			up = !r.closed
			time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
		}
		nc.Close()
	}
}

func either(first bool, a, b func()) func() {
	if first {
		return a
	}
	return b
}

// mischief makes faults, and ends them.
func mischief(s *zktest.Server, members []*zktest.Member) {
	rnd := rand.New(rand.NewPCG(99, 0))
	for range 300 {
		m := members[rnd.IntN(len(members))]
		on := rnd.IntN(2) == 0
		switch rnd.IntN(12) {
		case 0:
			either(on, m.Refuse, m.Accept)()
		case 1:
			either(on, func() { m.Blackhole() }, func() { m.Blackhole(1 + zktest.Direction(rnd.IntN(2))) })()
		case 2:
			either(on, m.LagUntilSync, m.CatchUp)()
		case 3:
			either(on, m.CutFromLeader, m.RejoinLeader)()
		case 4:
			m.Jitter(time.Duration(rnd.IntN(50)) * time.Millisecond)
		case 5:
			if list := s.Sessions(); len(list) > 0 {
				s.Expire(list[rnd.IntN(len(list))].ID)
			}
		case 6:
			m.DropReply(func(zktest.Request) bool { return on })
		case 7:
			s.DisconnectAll()
		case 8:
			if rnd.IntN(10) == 0 {
				either(on, s.Restart, s.RestartExpired)()
			}
		case 9:
			either(on && rnd.IntN(4) == 0, s.LoseQuorum, s.RegainQuorum)()
		case 10:
			if rnd.IntN(4) == 0 {
				m.Lead()
			}
		default:
			s.Heal()
			m.RejoinLeader()
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, m := range members {
		m.RejoinLeader()
		m.CatchUp()
		m.DropReply(nil)
	}
	s.RegainQuorum()
	s.Heal()
}
