package sim

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A wait goes on in a new session, with a new node: the fence is that node's,
// not the first one's.
func TestFenceIsOfTheNodeThatStands(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		member := srv.AddMember()
		dial := func(d zk.Dialer) *zksync.Session {
			s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, suite.WithDialer(d))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first, second := dial(srv.Dial), dial(member.Dial)
		defer first.Close()
		defer second.Close()
		h, err := zksync.NewMutex(first, "/l").Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := make(chan *zksync.Hold)
		go func() {
			h, err := zksync.NewMutex(second, "/l").Hold(context.Background())
			if err != nil {
				t.Error(err)
			}
			next <- h
		}()
		time.Sleep(time.Second)
		member.Refuse()
		if !srv.Expire(second.ID()) {
			t.Fatal("no session to expire")
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		member.Accept()
		h = <-next
		if _, stat, _ := srv.Get(h.Node()); h.Fence() != stat.Czxid {
			t.Errorf("fence %#x, want its node's %#x", h.Fence(), stat.Czxid)
		}
	})
}

// A waiter to whom a lock would be handed over may leave before it is known
// whether there is anything to hand over. Unlock then returns what became of the
// node.
func TestUnlockWhoseHeirLeaves(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, zksync.WithDialContext(srv.DialContext),
			zksync.WithSessionTimeout(3*time.Second), zksync.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mu := zksync.NewMutex(s, "/l")
		mu.Lock()
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			if err := mu.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("LockContext: %v, want its deadline", err)
			}
		}()
		time.Sleep(time.Second)
		srv.Blackhole(zktest.ToServer)
		time.Sleep(4 * time.Second) // the session is over
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := mu.UnlockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Unlock, unheard: %v, want its deadline", err)
		}
		srv.Heal()
		if err := mu.LockContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := mu.UnlockContext(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A server may know that a session is over before its client does. That is no
// refusal: a wait goes on in the next session, and what was held is lost.
func TestSessionThatEndedUnheard(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, zksync.WithDialContext(srv.DialContext))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mu := zksync.NewMutex(s, "/l")
		h, err := mu.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		srv.LagUntilSync() // the connection stands on
		srv.Expire(s.ID())
		if err := h.Release(t.Context()); !errors.Is(err, zksync.ErrLost) {
			t.Errorf("Release: %v, want ErrLost", err)
		}
		srv.Expire(s.ID())
		if err := mu.LockContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Unlock()
	})
}

// When no more hand-overs are due, the lock goes to the others in line by the
// deletion of the node. That shows whether it was there.
func TestUnlockOfALostLockAfterTheLastHandover(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, member := dialTo(t, srv)
		defer s.Close()
		other, _ := dialTo(t, srv)
		defer other.Close()
		mu := zksync.NewMutex(s, "/l", zksync.WithHandoff(1))
		if err := mu.LockContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		handed := make(chan error, 1)
		go func() { handed <- mu.LockContext(context.Background()) }()
		time.Sleep(20 * time.Millisecond)
		next := make(chan error, 1)
		go func() { next <- mu.LockContext(context.Background()) }()
		elsewhere := make(chan error, 1)
		go func() { elsewhere <- zksync.NewMutex(other, "/l").LockContext(context.Background()) }()
		time.Sleep(20 * time.Millisecond)
		member.LagUntilSync() // the connection stands on
		srv.Expire(s.ID())
		if err := mu.UnlockContext(t.Context()); err != nil {
			t.Fatalf("Unlock that hands over: %v", err)
		}
		if err := <-handed; err != nil {
			t.Fatal(err)
		}
		if err := mu.UnlockContext(t.Context()); !errors.Is(err, zksync.ErrLost) {
			t.Errorf("Unlock: %v, want ErrLost", err)
		}
		member.CatchUp()
		if err := <-elsewhere; err != nil {
			t.Fatal(err)
		}
		zksync.NewMutex(other, "/l").Unlock()
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		mu.Unlock()
	})
}

func dialTo(t *testing.T, srv *zktest.Server) (*zksync.Session, *zktest.Member) {
	member := srv.AddMember()
	s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, zksync.WithDialContext(member.DialContext),
		zksync.WithSessionTimeout(timeout), zksync.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	return s, member
}
