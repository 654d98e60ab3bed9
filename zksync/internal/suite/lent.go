package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A client of the program outlives Close of the session on it, and so does the
// client's session: the library has to delete the nodes of its locks there.

// AdaptedTimeout is well above the 4 s that Close waits: no session ends meanwhile.
const AdaptedTimeout = 10 * time.Second

// Lent is a session on a program's client, which reaches the server on a network of
// its own.
type Lent struct {
	*zksync.Session
	Net Network
	P   *ensemble.Proxy // is Net, with its hooks; nil in virtual time
	c   *zk.Conn
	ID  int64    // of the client's session
	Raw *zk.Conn // goes another way
	End func()   // closes the client
}

// Lend makes a session on a client of the test's own.
func (z *Ground) Lend(t *testing.T) *Lent {
	t.Helper()
	n, servers, dial := z.network(t)
	l := &Lent{Net: n, Raw: z.Raw(t)}
	l.P, _ = n.(*ensemble.Proxy)
	c, events, err := zk.Connect(servers, AdaptedTimeout, zk.WithLogger(Mute{}), zk.WithLogInfo(false), zk.WithDialer(dial))
	Must(t, err)
	l.c = c
	l.End = func() {
		c.Close()
		for range events {
		}
	}
	t.Cleanup(l.End)
	l.Session, err = zksync.NewSession(c, AdaptedTimeout, zksync.WithLogger(Logger(t)))
	Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	Must(t, l.Ping(Context(t)))
	l.ID = c.SessionID()
	return l
}

// Lives checks that the client's session is the one that it had.
func (l *Lent) Lives(t *testing.T) {
	t.Helper()
	if _, _, err := l.c.Exists("/"); err != nil || l.c.SessionID() != l.ID {
		t.Errorf("session %#x with %v, want %#x", l.c.SessionID(), err, l.ID)
	}
}

// Gone waits until no node is left below p.
func (l *Lent) Gone(t *testing.T, p string) {
	t.Helper()
	InLine(t, l.Raw, p, 0)
	l.Lives(t)
}

// CloseNames checks that the error of Close has the words, and names the path.
func CloseNames(t *testing.T, err error, words, path string) {
	t.Helper()
	e := IsError(t, err)
	if e.Op != "close" || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
		t.Errorf("Close: %v, want %q of %q", err, words, path)
	}
}
