//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

func TestDeadlocks(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root := lockPath(t)
		a, b := z.dial(t), z.dial(t)
		first, second := zksync.NewOwner("transfer 1"), zksync.NewOwner("transfer 2")
		hold(t, zksync.NewMutex(a, root+"/x").As(first))
		hold(t, zksync.NewMutex(b, root+"/y").As(second))

		out, stderr := z.says(t, 0, "deadlocks", root)
		if out != "" || stderr != fmt.Sprintf("zksync: no deadlock below %s (2 locks)\n", root) {
			t.Errorf("stdout %q, stderr %q", out, stderr)
		}
		out, _ = z.says(t, 0, "deadlocks", "-o", "json", root)
		var none view.Deadlocks
		document(t, "deadlocks", out, &none)

		wait(t, zksync.NewMutex(a, root+"/y").As(first))
		wait(t, zksync.NewMutex(b, root+"/x").As(second))
		z.inLine(t, a, root+"/x", 2)
		q := z.inLine(t, a, root+"/y", 2)
		out, _ = z.says(t, 1, "deadlocks", root)
		for _, want := range []string{
			"deadlock of 2 owners, certain\n", `"transfer 1" waits for "transfer 2"`, `"transfer 2" waits for "transfer 1"`,
			"for the lock " + root + "/y\n    with the node " + q.Nodes[1].Node[len(root)+3:], "To end it, delete one of the nodes: zksync break --node _c_",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in %s", want, out)
			}
		}
		out, _ = z.says(t, 1, "deadlocks", "-o", "json", root)
		var v view.Deadlocks
		document(t, "deadlocks", out, &v)
		if len(v.Cycles) != 1 || !v.Cycles[0].Certain || len(v.Cycles[0].Waits) != 2 || v.Cycles[0].Waits[0].Owner != v.Cycles[0].Waits[1].For {
			t.Errorf("%+v", v)
		}
		// What the output recommends ends it.
		w := v.Cycles[0].Waits[0]
		z.says(t, 0, "break", "--yes", "--node", w.Node, w.Path)
	})
}
