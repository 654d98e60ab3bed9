//go:build unix

package crowds_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// elects has Curator's LeaderSelector and ours stand for one election, in turns.
func elects(t *testing.T, z *suite.Ground, curator language) {
	ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
	java := startWorker(t, curator, filepath.Join(t.TempDir(), "held"))
	e := zksync.NewElection(z.Dial(t, zksync.WithIdentity("go-1")), p)
	observed := make(chan zksync.LockNode, 100)
	go func() {
		for n, err := range zksync.NewElection(z.Dial(t), p).Observe(ctx) {
			if err != nil {
				return
			}
			observed <- n
		}
	}()
	leads := make(chan chan error)
	run := func() <-chan error {
		return suite.Async(func() error {
			return e.Run(ctx, func(context.Context, *zksync.Hold) error {
				end := make(chan error)
				leads <- end
				return <-end
			})
		})
	}
	form := func(want zksync.Form) {
		t.Helper()
		for n := (zksync.LockNode{}); n.Form != want; { // somebody else, or nobody, may have led before
			n = suite.Receive(t, observed)
		}
		n, err := e.Leader(ctx)
		suite.Must(t, err)
		if n.Form != want || !n.Held {
			t.Errorf("%+v leads, want one of %s", n, want)
		}
	}

	result := run()
	resign := suite.Receive(t, leads)
	form(zksync.FormZKSync)
	java.tell(t, "elect", z.Servers[0], p, "java-1")
	java.answers(t, "stands")
	suite.InLine(t, raw, p, 2)
	for range 3 {
		java.tell(t, "leader")
		if id := java.answers(t, "leader"); !strings.Contains(id, `"id":"go-1"`) {
			t.Errorf("Curator takes %q for the leader", id)
		}
		resign <- nil
		suite.Must(t, suite.Receive(t, result))
		java.answers(t, "leads")
		form(zksync.FormCurator)

		result = run()
		suite.InLine(t, raw, p, 2)
		select {
		case <-leads:
			t.Error("two lead")
		default:
		}
		java.tell(t, "leader")
		if id := java.answers(t, "leader"); id != "java-1" {
			t.Errorf("Curator takes %q for the leader", id)
		}
		java.tell(t, "resign") // and stands again
		resign = suite.Receive(t, leads)
		form(zksync.FormZKSync)
		suite.InLine(t, raw, p, 2)
	}
	java.tell(t, "close")
	java.answers(t, "done")
	resign <- nil
	suite.Must(t, suite.Receive(t, result))
	z.Empty(t, p)
}
