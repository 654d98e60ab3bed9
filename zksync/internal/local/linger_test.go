package local

import (
	"context"
	"io"
	"log/slog"
	"sync"
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

// kept returns a lock that lingers in a session of its own, after a call by somebody, and
// what takes it again.
func kept(t *testing.T, timeout time.Duration, observer Observer, by Name) (*Lock, *Quick) {
	t.Helper()
	server := zktest.Run(t, zktest.WithTick(timeout/2), zktest.WithSessionLimits(timeout/2, time.Minute))
	c, err := conn.Dial(t.Context(), conn.Config{Servers: []string{server.Addr()}, Timeout: timeout,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), OnState: func(conn.State) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	table := NewTable()
	table.Config = Config{Conn: c, Observer: observer, Writes: func([]zk.ACL) bool { return true }, During: context.WithCancel}
	q := &Quick{Kind: Exclusive, Terms: &Terms{ACL: zk.WorldACL(zk.PermAll)}, Handoff: 1000, Linger: time.Hour}
	l := table.Enter("/l", "/l")
	t.Cleanup(l.Leave)
	once(t, l, q, by)
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

// once has a call take the lock, and gives it back.
func once(t *testing.T, l *Lock, q *Quick, by Name) {
	t.Helper()
	call := &Call{Want: Want{Kind: q.Kind, Handoff: q.Handoff, Linger: q.Linger}, Caller: silent{}, Ctx: t.Context(), Terms: q.Terms, Name: by}
	if err := l.Acquire(call); err != nil {
		t.Fatal(err)
	}
	b, err := l.Unlock(false, "", Name{})
	if err != nil {
		t.Fatal(err)
	}
	b.Run(conn.Wait)
}

// A process that was stopped while Take waited for the mutex does not take a lock whose
// session may be over: the quorum has not answered for half the session timeout.
func TestTakeComparesTheClockLast(t *testing.T) {
	const timeout = 2 * time.Second
	l, q := kept(t, timeout, program{}, Name{})
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
	l, _ := kept(t, time.Minute, program{}, Name{})
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

// namer is a program whose nodes have the owners' names. nameless is called before it says
// for the first time that there is no owner.
type namer struct {
	program
	once     sync.Once
	nameless func()
}

func (n *namer) Says(by Name) []byte {
	if by.Owner == "" {
		n.once.Do(n.nameless)
	}
	return []byte(by.Owner)
}

// A call takes the lock that lingers when a write to the node begins. The lock stays in
// line: the write does not use up a watch that the lock relies on.
func TestTakenWhenAWriteBegins(t *testing.T) {
	begins, taken := make(chan struct{}), make(chan struct{})
	n := &namer{nameless: func() { close(begins); <-taken }}
	l, q := kept(t, time.Minute, n, Name{OwnerID: "1", Owner: "a"})
	l.mu.Lock()
	ticket := l.line.resting
	l.mu.Unlock()
	select {
	case <-begins:
	case <-time.After(time.Minute):
		t.Fatal("the node is not written")
	}
	if !l.Take(q) {
		t.Error("the lock does not linger")
	}
	close(taken)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if said, _ := ticket.e.Said(); len(said) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the node still has the name")
		}
	}
	ticket.pub.awaitWritten(t.Context())
	if !l.Give(false, false) { // it takes a request
		b, err := l.Unlock(false, "", Name{})
		if err != nil {
			t.Fatal(err)
		}
		b.Run(conn.Wait)
	}
	once(t, l, q, Name{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line.resting != ticket {
		t.Error("the lock has left the line")
	}
}
