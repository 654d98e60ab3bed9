package zktest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// announce is a user's own code: it keeps an ephemeral node, in one session
// after the other, until stop is closed.
func announce(conn *zk.Conn, path string, stop <-chan struct{}) {
	for {
		_, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != nil && err != zk.ErrNodeExists {
			time.Sleep(time.Second)
			continue
		}
		_, _, gone, err := conn.ExistsW(path)
		if err != nil {
			continue
		}
		select {
		case <-gone:
		case <-stop:
			return
		}
	}
}

// A test of code that has to survive the end of its session. Ten minutes
// without a network pass at once.
func TestAnnounceSurvivesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial), zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		go announce(conn, "/here", stop)
		time.Sleep(time.Minute)
		_, before, _ := s.Get("/here")

		s.Blackhole(true, true)
		time.Sleep(10 * time.Minute)
		if _, _, ok := s.Get("/here"); ok {
			t.Error("the session did not end")
		}
		s.Heal()
		time.Sleep(time.Minute)
		if _, after, ok := s.Get("/here"); !ok || after.EphemeralOwner == before.EphemeralOwner {
			t.Error("not announced by the next session")
		}
		close(stop)
		conn.Close()
	})
}

func ExampleServer() {
	s := zktest.New()
	defer s.Close()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/jobs", []byte("open"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		panic(err)
	}
	path, err := conn.Create("/jobs/job-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		panic(err)
	}
	fmt.Println(path)

	_, _, gone, err := conn.ExistsW(path)
	if err != nil {
		panic(err)
	}
	s.Expire(conn.SessionID())
	<-gone
	fmt.Print(s.Tree())
	fmt.Println(s.Requests()["create"], "creates")
	// Output:
	// /jobs/job-0000000000
	// /jobs "open"
	// 2 creates
}

// The answer to a create is lost: the client does not know that it was carried
// out.
func ExampleServer_DropReply() {
	s := zktest.New()
	defer s.Close()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	s.DropReply(func(r zktest.Request) bool { return r.Op == "create" })
	_, err = conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	fmt.Print(s.Tree())
	// Output:
	// zk: connection closed
	// /a
}
