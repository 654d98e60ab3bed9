package zktest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// supportedMajorities has a row for each number of members: how many of them may be cut
// off while the leader makes transactions.
func supportedMajorities(t *testing.T) [][]string {
	rows := [][]string{{"members", "of them may be cut off", "in ZooKeeper"}}
	for n := 1; n <= 6; n++ {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			for range n - 1 {
				s.AddMember()
			}
			c, cut := open(t, s), 0
			for ; cut < n-1; cut++ {
				s.Member(n - 1 - cut).CutFromLeader()
				c.send(opCreate, crt(fmt.Sprint("/", cut), 0)...)
				if c.frameWithin(time.Second) == nil {
					break
				}
			}
			rows = append(rows, []string{fmt.Sprint(n), fmt.Sprint(cut), fmt.Sprint((n - 1) / 2)})
		})
	}
	return rows
}

// Half of an ensemble makes no transactions, as four real servers did it.
func TestHalfIsNoMajority(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		followers := []*zktest.Member{s.AddMember(), s.AddMember(), s.AddMember()}
		c := open(t, s)
		followers[0].CutFromLeader()
		c.create("/three", 0)
		followers[1].CutFromLeader()
		c.send(opCreate, crt("/two", 0)...)
		if frame := c.frameWithin(2 * time.Second); frame != nil {
			t.Errorf("two of four make a transaction: %x", frame)
		}
		followers[1].RejoinLeader()
		if r := c.recv(); r.closed || r.Err != wire.CodeOK {
			t.Errorf("three of four: %+v", r)
		}
	})
}
