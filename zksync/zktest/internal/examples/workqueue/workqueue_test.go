package workqueue_test

import (
	"errors"
	"io"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/examples/workqueue"
)

// quiet keeps go-zookeeper's client from logging each attempt to connect.
var quiet = log.New(io.Discard, "", 0)

// worker is a session with its queue.
func worker(t *testing.T, srv *zktest.Server, name string) *workqueue.Queue {
	conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for _, dir := range []string{"/items", "/claims"} {
		if _, err := conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
	}
	return &workqueue.Queue{Conn: conn, Items: "/items", Claims: "/claims", Worker: name}
}

// loseAnswer loses the answer to the next request of a kind.
func loseAnswer(srv *zktest.Server, op string) {
	lost := false
	srv.DropReply(func(r zktest.Request) bool {
		if lost || r.Op != op {
			return false
		}
		lost = true
		return true
	})
}

func TestPutAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		q := worker(t, srv, "a")
		loseAnswer(srv, "create")
		if err := q.Put("order-17", []byte("ship")); err == nil {
			t.Fatal("no answer was lost")
		}
		if err := q.Put("order-17", []byte("ship")); err != nil {
			t.Fatal(err)
		}
		if items := srv.Children("/items"); len(items) != 1 {
			t.Errorf("items %q, want one", items)
		}
	})
}

func TestTakeAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		q := worker(t, srv, "a")
		if err := q.Put("order-17", []byte("ship")); err != nil {
			t.Fatal(err)
		}
		loseAnswer(srv, "multi")
		if _, err := q.Take(); err == nil {
			t.Fatal("no answer was lost")
		}
		w, err := q.Take()
		if err != nil || string(w.Data) != "ship" {
			t.Fatalf("took %q, %v", w.Data, err)
		}
		if err := q.Done(w); err != nil {
			t.Fatal(err)
		}
		if tree := srv.Tree(); tree != "/claims\n/items\n" {
			t.Errorf("left:\n%s", tree)
		}
	})
}

// A worker whose session has expired is still at work when another one takes it over.
func TestWorkOfAWorkerThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		slow, other := worker(t, srv, "a"), worker(t, srv, "b")
		if err := slow.Put("order-17", []byte("ship")); err != nil {
			t.Fatal(err)
		}
		late, err := slow.Take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Take(); !errors.Is(err, workqueue.ErrEmpty) {
			t.Fatalf("work was taken twice: %v", err)
		}
		srv.Expire(slow.Conn.SessionID())
		w, err := other.Take()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the slow one has a session again
		if err := slow.Done(late); !errors.Is(err, zk.ErrBadVersion) {
			t.Errorf("the slow worker is done: %v", err)
		}
		if err := other.Done(w); err != nil {
			t.Error(err)
		}
		if err := slow.Done(late); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("the slow worker is done: %v", err)
		}
	})
}
