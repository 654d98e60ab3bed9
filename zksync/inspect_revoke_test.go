package zksync_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// named has nodes carry all that they can.
func named() []zksync.DialOption {
	return []zksync.DialOption{zksync.WithIdentity("till-1"), zksync.WithTracer(&zksync.Tracer{
		Parent: func(context.Context) string { return traceParent },
	})}
}

// dataOf is what a node says, and how often that was written.
func dataOf(t testing.TB, c *zk.Conn, node string) (string, int32) {
	t.Helper()
	data, stat, err := c.Get(node)
	suite.Must(t, err)
	return string(data), stat.Version
}

// A lock that is asked back still shows its holder. It is asked back once, by
// however many.
func TestRevokeKeepsTheName(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t, named()...), z.Dial(t)
		h, err := zksync.NewMutex(s, p).Hold(zksync.WithOwner(ctx, zksync.NewOwner("clerk")))
		suite.Must(t, err)
		was, _ := dataOf(t, raw, h.Node())
		for range 3 {
			suite.Must(t, other.Revoke(ctx, h.Node()))
		}
		suite.Receive(t, h.Revoked())
		got, version := dataOf(t, raw, h.Node())
		if want := strings.TrimSuffix(was, "}") + `,"revoke":true}`; got != want || version != 1 {
			t.Errorf("%s at version %d, want %s", got, version, want)
		}
		q, err := other.Inspect(ctx, p)
		suite.Must(t, err)
		n := q.Nodes[0]
		if !n.Revoked || n.Identity != "till-1" || n.OwnerName != "clerk" || n.OwnerID == "" || n.PID == 0 || n.TraceParent != traceParent || n.Version != 1 {
			t.Errorf("%+v", n)
		}
		suite.Must(t, h.Err())
		suite.Must(t, h.Release(ctx))
		if err := other.Revoke(ctx, h.Node()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("what is gone is asked back: %v", err)
		}
	})
}

// The holder learns of the request, whichever way it is written.
func TestRevokedUnderstandsEveryWord(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		for _, word := range []string{"__REVOKE__", "unlock", `{"v":1,"revoke":true}`, `{"v":1,"id":"x","revoke":true,"new":1}`} {
			h, err := zksync.NewMutex(s, p).Hold(ctx)
			suite.Must(t, err)
			_, err = raw.Set(h.Node(), []byte(word), -1)
			suite.Must(t, err)
			suite.Receive(t, h.Revoked())
			if q, err := s.Inspect(ctx, p); err != nil || !q.Nodes[0].Revoked {
				t.Errorf("%s: %+v, %v", word, q, err)
			}
			suite.Must(t, h.Release(ctx))
		}
	})
}

// Nodes that are not ours, and those of ours that say nothing, get Curator's word.
func TestRevokeOfANodeWithoutOurData(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, silent := z.Dial(t), z.Dial(t, zksync.WithoutNodeInfo())
		h, err := zksync.NewMutex(silent, p).Hold(ctx)
		suite.Must(t, err)
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		ours := h.Node()[:len(h.Node())-10] // as a name; its data is somebody else's
		nodes := []string{
			h.Node(),
			suite.Plant(t, raw, p+"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-lock-", `{"v":1,"id":"java"}`, sequential),
			suite.Plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", sequential),
			suite.Plant(t, raw, p+"/_c_6b3b7b1c4a534c4f8a2f2f0f5a3c8f12-lock-", "", sequential),
			suite.Plant(t, raw, ours, `{"v":2,"id":"ours"}`, sequential),
			suite.Plant(t, raw, ours, "10.0.0.7", sequential),
		}
		// One that others may write, but not read.
		suite.Must(t, raw.AddAuth("digest", []byte("raw:secret")))
		acl := append(zk.DigestACL(zk.PermAll, "raw", "secret"), zk.WorldACL(zk.PermWrite)...)
		blind, err := raw.Create(ours, []byte(`{"v":1}`), sequential, acl)
		suite.Must(t, err)
		suite.Must(t, s.Revoke(ctx, blind))
		if data, _ := dataOf(t, raw, blind); data != "__REVOKE__" {
			t.Errorf("%s: %s", blind, data)
		}
		for _, node := range nodes {
			for range 2 {
				suite.Must(t, s.Revoke(ctx, node))
			}
			if data, version := dataOf(t, raw, node); data != "__REVOKE__" || version != 1 {
				t.Errorf("%s: %s at version %d", node, data, version)
			}
		}
		suite.Receive(t, h.Revoked())
		for _, node := range append(nodes[1:], blind) {
			suite.Must(t, s.Break(ctx, node))
		}
		suite.Must(t, h.Release(ctx))
	})
}

// A name that is put into the node while it is asked back stays there.
func TestRevokeWritesOverNoNewName(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		h, err := zksync.NewMutex(z.Dial(t), p).Hold(ctx)
		suite.Must(t, err)
		proxy, s := z.Behind(t)
		var mu sync.Mutex
		names := []string{`{"v":1,"id":"first"}`, `{"v":1,"id":"second"}`}
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			mu.Lock()
			defer mu.Unlock()
			if !f.FromServer && f.Op == "setData" && len(names) > 0 {
				if _, err := raw.Set(h.Node(), []byte(names[0]), -1); err != nil {
					t.Error(err)
				}
				names = names[1:]
			}
			return ensemble.Pass
		})
		suite.Must(t, s.Revoke(ctx, h.Node()))
		if got, version := dataOf(t, raw, h.Node()); got != `{"v":1,"id":"second","revoke":true}` || version != 3 {
			t.Errorf("%s at version %d", got, version)
		}
		suite.Receive(t, h.Revoked())
		suite.Must(t, h.Release(ctx))
	})
}

// A request that was made and whose answer was lost, or that was lost itself, is
// made once.
func TestRevokeWithALostAnswer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		for _, answer := range []bool{false, true} {
			h, err := zksync.NewMutex(z.Dial(t, named()...), p).Hold(ctx)
			suite.Must(t, err)
			proxy, s := z.Behind(t)
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) (do ensemble.Action) {
				if f.FromServer == answer && f.Op == "setData" {
					once.Do(func() { do = ensemble.DropAndDisconnect })
				}
				return do
			})
			suite.Must(t, s.Revoke(ctx, h.Node()))
			got, version := dataOf(t, raw, h.Node())
			if !strings.Contains(got, "till-1") || !strings.HasSuffix(got, `,"revoke":true}`) || version != 1 {
				t.Errorf("answer lost: %v: %s at version %d", answer, got, version)
			}
			suite.Receive(t, h.Revoked())
			suite.Must(t, h.Release(ctx))
		}
	})
}

// Revoke tries for as long as ctx lets it.
func TestRevokeEndsWithItsContext(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		h, err := zksync.NewMutex(s, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		suite.IsError(t, other.Revoke(suite.DoneContext(), h.Node()), context.Canceled, suite.ErrCause)
		if data, version := dataOf(t, s.Conn(), h.Node()); version != 0 {
			t.Errorf("%s at version %d", data, version)
		}
		srv.Blackhole()
		ctx, cancel := context.WithTimeout(context.Background(), suite.VirtualTimeout/9)
		defer cancel()
		suite.IsError(t, other.Revoke(ctx, h.Node()), context.DeadlineExceeded)
		srv.Heal()
		suite.Must(t, h.Release(suite.Context(t)))
	})
}
