package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// One client is far from the server, another one is cut off, and the rest notice
// nothing of it.
func ExampleLink() {
	srv := zktest.New()
	defer srv.Close()
	far, gone := srv.AddLink(), srv.Member(0).AddLink()
	a, b := connectTo(far.Dial), connectTo(srv.Dial)
	defer a.Close()
	defer b.Close()

	far.Delay(20 * time.Millisecond)
	far.Jitter(5 * time.Millisecond)
	start := time.Now()
	createNode(a, "/from-far", "", 0)
	fmt.Println(time.Since(start) >= 40*time.Millisecond)

	gone.Refuse()
	gone.DisconnectAll()
	_, err := gone.DialContext(context.Background(), "tcp", "")
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	createNode(b, "/from-near", "", 0)
	fmt.Print(srv.Tree())

	gone.Accept()
	gone.Blackhole() // connects, and hears nothing
	far.Heal()
	// Output:
	// true
	// true
	// /from-far
	// /from-near
}

// Each frame breaks its connection with a probability of one in twenty, and the program
// has to do its work all the same.
func ExampleLink_Loss() {
	srv := zktest.New(zktest.WithSeed(1))
	defer srv.Close()
	link := srv.AddLink()
	conn := connectTo(link.Dial)
	defer conn.Close()
	createNode(conn, "/counter", "0", 0)
	link.Loss(0.05)
	for done := 0; done < 10; {
		if _, err := conn.Set("/counter", fmt.Append(nil, done+1), int32(done)); err == nil {
			done++
		} else if data, _, err := conn.Get("/counter"); err == nil && string(data) == fmt.Sprint(done+1) {
			done++ // only the answer was lost
		}
	}
	link.Heal()
	fmt.Print(srv.Tree())
	// Output:
	// /counter "10"
}
