package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A client of the program's own lives on after Close, and its session with it:
// whatever a lock has left there has to go by itself.

// AdaptedTimeout is well above the 4 s that Close waits: no session ends meanwhile.
const AdaptedTimeout = 10 * time.Second

// Lent is a session on a program's client, which reaches the server by a proxy.
type Lent struct {
	*zksync.Session
	P   *ensemble.Proxy
	c   *zk.Conn
	ID  int64    // of the client's session
	Raw *zk.Conn // goes another way
	End func()   // closes the client
}

// Lend makes a session on a client of the test's own, behind a proxy.
func (z *Ground) Lend(t *testing.T) *Lent {
	t.Helper()
	l := &Lent{P: z.Proxied(t), Raw: z.Raw(t)}
	c, events, err := zk.Connect([]string{l.P.Addr()}, AdaptedTimeout, zk.WithLogger(Mute{}), zk.WithLogInfo(false))
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

// CloseNames checks that Close tells of one path, in its own words.
func CloseNames(t *testing.T, err error, words, path string) {
	t.Helper()
	e := IsError(t, err)
	if e.Op != "close" || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
		t.Errorf("Close: %v, want %q of %q", err, words, path)
	}
}
