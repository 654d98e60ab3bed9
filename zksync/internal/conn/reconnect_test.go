package conn

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// adapted returns a program's client that has two addresses, so that it connects at once
// after a connection has ended, and the Conn that uses it.
func adapted(t *testing.T) (*zktest.Server, *zk.Conn, *Conn) {
	t.Helper()
	srv := zktest.Run(t)
	zc, events, err := zk.Connect([]string{"10.0.0.1", "10.0.0.2"}, T, zk.WithDialer(srv.Dial), zk.WithLogInfo(false),
		zk.WithLogger(quiet{newConn(Config{}).Logger()}))
	if err != nil {
		t.Fatal(err)
	}
	c := Adapt(zc, Config{Timeout: T})
	t.Cleanup(func() {
		c.Close(context.Background())
		srv.Heal()
		zc.Close()
		for range events {
		}
	})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return srv, zc, c
}

// The client loses its session, and also the connection of the next one, before the
// Conn looks. The proof of the second session does not count for the first.
func TestForeignSessionThatIsOverDoesNotCount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv, _, c := adapted(t)
		first, _ := c.State()
		if _, _, err := c.Check("/"); err != nil || !c.Alive(first.Session) {
			t.Fatalf("alive: %v, with %v", c.Alive(first.Session), err)
		}
		time.Sleep(T * 2)
		_, ran, err := clientCarrier{c}.with(wire.OpMulti, func(zc *zk.Conn) (a answer, err error) {
			srv.Expire(first.Session)
			for zc.SessionID() == first.Session || zc.State() != zk.StateHasSession {
				time.Sleep(time.Microsecond)
			}
			_, err = zc.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
			srv.Refuse()
			srv.DisconnectAll()
			for zc.State() == zk.StateHasSession {
				time.Sleep(time.Microsecond)
			}
			return a, err
		})
		if ran.Session() != 0 || err != nil {
			t.Errorf("ran under session %#x, with %v", ran.Session(), err)
		}
		if st, _ := c.State(); c.Alive(first.Session) || st.Session == first.Session || st.Up {
			t.Errorf("session %#x is over, alive: %v, known: %+v", first.Session, c.Alive(first.Session), st)
		}
	})
}

// The Conn notices a connection that was replaced at once by one to another server. The
// watches end, as the client may have missed events in between.
func TestForeignReconnectIsSeen(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv, zc, c := adapted(t)
		w, err := c.Watch("/")
		if err != nil {
			t.Fatal(err)
		}
		before, _ := c.State()
		_, ran, err := clientCarrier{c}.with(wire.OpMulti, func(zc *zk.Conn) (a answer, err error) {
			srv.Disconnect(before.Session)
			for zc.Server() == before.Server || zc.State() != zk.StateHasSession {
				time.Sleep(time.Microsecond)
			}
			_, err = zc.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
			return a, err
		})
		if err != nil || ran.Session() != before.Session {
			t.Errorf("ran under %#x with %v, want %#x", ran.Session(), err, before.Session)
		}
		after, _ := c.State()
		if after.Epoch != before.Epoch+1 || !after.Up || after.Server != zc.Server() || after.Session != before.Session {
			t.Errorf("known: %+v, before: %+v, on %s", after, before, zc.Server())
		}
		if over, _ := w.Over(); !over {
			t.Error("the watch of the first connection goes on")
		}
	})
}
