package local

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// program is one that wants to hear of nothing.
type program struct{}

func (program) Says(Name) []byte                { return []byte("{}") }
func (program) Lost(reason error) error         { return reason }
func (program) Pending(int)                     {}
func (program) Refused(string, bool, error)     {}
func (program) LostUnseen(_, _ string, _ error) {}
func (program) Limits(string, int64, int64)     {}
func (program) Later(f func())                  { f() }
func (program) Running(int)                     {}

// kept returns a lock that lingers in a session of its own, and what takes it again.
func kept(t *testing.T, timeout time.Duration) (*Lock, *Quick) {
	t.Helper()
	server := zktest.Run(t, zktest.WithTick(timeout/2), zktest.WithSessionLimits(timeout/2, time.Minute))
	c, err := conn.Dial(t.Context(), conn.Config{Servers: []string{server.Addr()}, Timeout: timeout,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), OnState: func(conn.State) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	table := NewTable()
	table.Config = Config{Conn: c, Observer: program{}, Writes: func([]zk.ACL) bool { return true }, During: context.WithCancel}
	q := &Quick{Kind: Exclusive, Terms: &Terms{ACL: zk.WorldACL(zk.PermAll)}, Handoff: 1000, Linger: time.Hour}
	l := table.Enter("/l", "/l")
	t.Cleanup(l.Leave)
	call := &Call{Want: Want{Kind: q.Kind, Handoff: q.Handoff, Linger: q.Linger}, Caller: silent{}, Ctx: t.Context(), Terms: q.Terms}
	if err := l.Acquire(call); err != nil {
		t.Fatal(err)
	}
	b, err := l.Unlock(false, "", Name{})
	if err != nil {
		t.Fatal(err)
	}
	b.Run(conn.Wait)
	for end := time.Now().Add(time.Minute); !l.Take(q); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lock does not linger")
		}
	}
	if !l.Give(false, false) {
		t.Fatal("the lock does not linger again")
	}
	return l, q
}

// A process that was stopped while Take waited for the mutex does not take a lock whose
// session may be over: the quorum has not answered for half the session timeout.
func TestTakeComparesTheClockLast(t *testing.T) {
	const timeout = 2 * time.Second
	l, q := kept(t, timeout)
	l.mu.Lock()
	taken := make(chan bool)
	go func() { taken <- l.Take(q) }()
	time.Sleep(timeout * 3 / 4)
	l.mu.Unlock()
	if <-taken {
		t.Error("taken, by a time that was read before the mutex was free")
	}
}

// A watch that is answered late, when the lock lingers already, hides nobody who comes
// for the lock.
func TestLateWatchHidesNoNewcomer(t *testing.T) {
	l, _ := kept(t, time.Minute)
	resting := func() *Ticket {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.line.resting
	}
	ticket := resting()
	late, err := ticket.e.Watched()
	if err != nil {
		t.Fatal(err)
	}
	l.armed(ticket, late)
	node := "/l/_c_00000000-0000-4000-8000-000000000000-lock-"
	if _, err := l.t.Conn.Zk().Create(node, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); resting() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lock still lingers, though somebody waits for it")
		}
	}
}
