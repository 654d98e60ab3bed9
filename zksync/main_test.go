package zksync_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The examples of the package's page are here, where godoc looks for them; its
// tests are at the module's root.

func TestMain(m *testing.M) {
	code := m.Run()
	server().Close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// server is what the examples connect to.
var server = sync.OnceValue(func() *zktest.Server {
	return zktest.New(zktest.WithTick(500*time.Millisecond), zktest.WithSessionLimits(time.Second, time.Minute))
})

func exampleServers() []string { return []string{server().Addr()} }
