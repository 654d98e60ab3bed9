package zksync_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A session that had to leave its nodes behind is not kept in memory: with its client's
// buffers that is 1.5 MB for each one closed during an outage.
func TestCloseLeavesNothingInMemory(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, z *suite.Ground, s *zksync.Session){
		"held": func(t *testing.T, z *suite.Ground, s *zksync.Session) {
			zksync.NewMutex(s, "/l").Lock()
			z.Server.Blackhole()
		},
		"permits": func(t *testing.T, z *suite.Ground, s *zksync.Session) {
			sem := zksync.NewSemaphore(s, "/s", 3)
			suite.Must(t, sem.Acquire(t.Context(), 2))
			z.Server.Blackhole()
			sem.Release(1)
		},
		"several": func(t *testing.T, z *suite.Ground, s *zksync.Session) {
			_, err := zksync.NewMulti(zksync.NewMutex(s, "/a"), zksync.NewMutex(s, "/b")).Hold(t.Context())
			suite.Must(t, err)
			z.Server.Blackhole()
		},
		"in line": func(t *testing.T, z *suite.Ground, s *zksync.Session) {
			zksync.NewMutex(s, "/l").Lock()
			suite.Async(func() error { return zksync.NewRWMutex(s, "/l").LockContext(t.Context()) })
			suite.AwaitWaiting(t, s, 1)
			z.Server.Blackhole()
		},
		"asked for": func(t *testing.T, z *suite.Ground, s *zksync.Session) {
			suite.LockAndUnlock(t, zksync.NewMutex(s, "/l"))
			z.Server.Blackhole(zktest.ToClient)
			suite.Async(func() error { return zksync.NewMutex(s, "/l").LockContext(t.Context()) })
			suite.AwaitWaiting(t, s, 1)
			synctest.Wait()
		},
	} {
		for client, open := range map[string]func(t *testing.T, z *suite.Ground) (s *zksync.Session, end func()){
			"dialed": func(t *testing.T, z *suite.Ground) (*zksync.Session, func()) {
				s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, suite.WithDialer(z.Server.Dial), zksync.WithSessionTimeout(suite.VirtualTimeout))
				suite.Must(t, err)
				return s, func() {}
			},
			"of a client": func(t *testing.T, z *suite.Ground) (*zksync.Session, func()) {
				c, _, err := zk.Connect([]string{"10.0.0.1"}, suite.VirtualTimeout, zk.WithDialer(z.Server.Dial), zk.WithLogInfo(false), zk.WithLogger(suite.Mute{}))
				suite.Must(t, err)
				s, err := zksync.NewSession(c, suite.VirtualTimeout)
				suite.Must(t, err)
				return s, c.Close
			},
		} {
			t.Run(name+"/"+client, func(t *testing.T) {
				var left weak.Pointer[zksync.Session]
				suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
					s, end := open(t, z)
					left = weak.Make(s)
					use(t, z, s)
					if err := s.Close(); err == nil {
						t.Error("Close says that nothing is left")
					}
					end()
					time.Sleep(time.Minute)
				})
				for n := 0; left.Value() != nil; n++ {
					if n == 10 {
						t.Fatal("the session is in memory for ever")
					}
					runtime.GC()
				}
			})
		}
	}
}
