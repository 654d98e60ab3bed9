package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// On a terminal a list that takes long says on stderr how far it is, and the line is
// gone at the end.
func TestLsProgress(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root, s := lockPath(t), z.dial(t)
		for i := range 20 {
			hold(t, zksync.NewMutex(s, fmt.Sprintf("%s/%02d", root, i)))
		}
		proxy, err := ensemble.NewProxy(z.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer && f.Op == "getData" {
				time.Sleep(25 * time.Millisecond)
			}
			return ensemble.Pass
		})
		p := commandOn(t, proxy.Addr(), "ls", root)
		p.Env = append(p.Env, "TERM=xterm")
		c := proctest.OnConsole(t, p, false)
		p.WantCode(0)
		c.Out.Await(t, root+"/19")
		shown, list, _ := strings.Cut(c.Out.String(), "WAITERS")
		if !strings.Contains(shown, " locks") || !strings.HasSuffix(strings.TrimSuffix(shown, "\x1b[1m"), "\x1b[0K") || strings.Contains(list, " locks") {
			t.Errorf("before the list: %q", shown)
		}
	})
}
