package zksynctest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zksynctest"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The session ends first, so that its node goes, and both have ended in the cleanup.
func TestNewClosesSessionThenServer(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(*testing.T)){
		"RealTime": func(t *testing.T, f func(*testing.T)) { f(t) },
		"Bubble":   synctest.Test,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T) {
				var s *zksync.Session
				var srv *zktest.Server
				t.Cleanup(func() { // runs after the cleanup of New
					if err := s.Ping(context.Background()); !errors.Is(err, zksync.ErrClosed) {
						t.Errorf("the session is not closed: %v", err)
					}
					if _, err := srv.Dial("tcp", "", 0); err == nil {
						t.Error("the server is not closed")
					}
					if left := srv.Children("/l"); len(left) != 0 {
						t.Errorf("left behind: %v", left)
					}
				})
				s, srv = zksynctest.New(t)
				zksync.NewMutex(s, "/l").Lock()
				if len(srv.Children("/l")) != 1 {
					t.Error("no node on the server")
				}
			})
		})
	}
}

// A fault that a test has left fails no test.
func TestNewWithAFaultAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, srv := zksynctest.New(t)
		zksync.NewMutex(s, "/l").Lock()
		srv.Blackhole()
	})
}

func TestNewTakesOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := zksynctest.New(t, zksync.WithSessionTimeout(3*time.Second))
		if s.Timeout() != 3*time.Second {
			t.Errorf("session timeout %v", s.Timeout())
		}
	})
}

// failing is a test that notes how it failed.
type failing struct {
	testing.TB
	fatal string
}

func (f *failing) Fatal(args ...any) {
	f.fatal = fmt.Sprint(args...)
	panic(f)
}

func TestNewFailsTheTest(t *testing.T) {
	f := &failing{TB: t}
	defer func() {
		if recover() != f || !strings.Contains(f.fatal, "session timeout") {
			t.Errorf("failed with %q", f.fatal)
		}
	}()
	zksynctest.New(f, zksync.WithSessionTimeout(-time.Second))
}
