//go:build unix

package zksync_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func init() { suite.Roles["greedy"] = greedy }

// greedy is a child that holds one lock and wants another one, as one owner.
func greedy() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	env := os.Getenv
	s, err := zksync.Dial(ctx, []string{env("ZKSYNC_TEST_SERVER")}, zksync.WithIdentity(env("ZKSYNC_TEST_NAME")))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer s.Close()
	ctx = zksync.WithOwner(ctx, zksync.NewOwner(env("ZKSYNC_TEST_NAME")))
	for _, p := range []string{"ZKSYNC_TEST_HAS", "ZKSYNC_TEST_WANTS"} {
		if err := zksync.NewMutex(s, env(p)).LockContext(ctx); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("has", env(p))
		// Only then does it want the other one, when somebody has it.
		for q := (zksync.Queue{}); len(q.Nodes) == 0; {
			if q, err = s.Inspect(ctx, env("ZKSYNC_TEST_WANTS")); err != nil {
				fmt.Println("error", err)
				return 1
			}
		}
	}
	return 0
}

// Three processes wait for each other in a circle, and InspectTree distinguishes them by name.
func TestInspectTreeNamesProcesses(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		names := []string{"ann", "ben", "cleo"}
		at := func(i int) string { return root + "/" + names[i%3] + "'s" }
		var pids []int
		for i, name := range names {
			c := suite.StartChild(t, "greedy", "ZKSYNC_TEST_SERVER", z.Servers[0], "ZKSYNC_TEST_NAME", name,
				"ZKSYNC_TEST_HAS", at(i), "ZKSYNC_TEST_WANTS", at(i+1))
			pids = append(pids, c.Process.Pid)
		}
		for i := range names {
			suite.InLine(t, raw, at(i), 2)
		}
		s := z.Dial(t)
		tree, err := s.InspectTree(ctx, root)
		suite.Must(t, err)
		if len(tree.Cycles) != 1 || len(tree.Cycles[0].Waits) != 3 || !tree.Cycles[0].Certain {
			t.Fatalf("%+v", tree.Cycles)
		}
		follows := map[string]string{"ann": "ben", "ben": "cleo", "cleo": "ann"}
		for _, w := range tree.Cycles[0].Waits {
			if follows[w.OwnerName] != w.ForName || w.Path != root+"/"+w.ForName+"'s" {
				t.Errorf("%+v", w)
			}
		}
		for i, q := range tree.Queues {
			if n := q.Nodes[0]; !n.Held || n.OwnerName != names[i] || n.Identity != names[i] || n.PID != pids[i] {
				t.Errorf("%s: %+v", q.Path, n)
			}
		}
		// An operator breaks the circle: everybody gets on.
		suite.Must(t, s.Break(ctx, tree.Queues[0].Nodes[0].Node))
		for i := range names {
			z.Empty(t, at(i))
		}
	})
}
