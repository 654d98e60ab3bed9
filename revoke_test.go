package zksync_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// named has nodes carry all that they can.
func named() []zksync.Option {
	return []zksync.Option{zksync.WithIdentity("till-1"), zksync.WithTracer(&zksync.Tracer{
		Parent: func(context.Context) string { return traceParent },
	})}
}

// dataOf is what a node says, and how often that was written.
func dataOf(t testing.TB, c *zk.Conn, node string) (string, int32) {
	t.Helper()
	data, stat, err := c.Get(node)
	ok(t, err)
	return string(data), stat.Version
}

// A lock that is asked back tells still who holds it. It is asked back once, by
// however many.
func TestRevokeKeepsTheName(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t, named()...), z.dial(t)
		h, err := zksync.NewMutex(s, p).Hold(zksync.WithOwner(ctx, zksync.NewOwner("clerk")))
		ok(t, err)
		was, _ := dataOf(t, raw, h.Node())
		for range 3 {
			ok(t, other.Revoke(ctx, h.Node()))
		}
		get(t, h.Revoked())
		got, version := dataOf(t, raw, h.Node())
		if want := strings.TrimSuffix(was, "}") + `,"revoke":true}`; got != want || version != 1 {
			t.Errorf("%s at version %d, want %s", got, version, want)
		}
		q, err := other.Inspect(ctx, p)
		ok(t, err)
		n := q.Nodes[0]
		if !n.Revoked || n.Identity != "till-1" || n.OwnerName != "clerk" || n.OwnerID == "" || n.PID == 0 || n.TraceParent != traceParent || n.Version != 1 {
			t.Errorf("%+v", n)
		}
		ok(t, h.Err())
		ok(t, h.Release(ctx))
		if err := other.Revoke(ctx, h.Node()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("what is gone is asked back: %v", err)
		}
	})
}

// Whatever way the request is written, the holder hears of it.
func TestRevokedUnderstandsEveryWord(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t)
		for _, word := range []string{"__REVOKE__", "unlock", `{"v":1,"revoke":true}`, `{"v":1,"id":"x","revoke":true,"new":1}`} {
			h, err := zksync.NewMutex(s, p).Hold(ctx)
			ok(t, err)
			_, err = raw.Set(h.Node(), []byte(word), -1)
			ok(t, err)
			get(t, h.Revoked())
			if q, err := s.Inspect(ctx, p); err != nil || !q.Nodes[0].Revoked {
				t.Errorf("%s: %+v, %v", word, q, err)
			}
			ok(t, h.Release(ctx))
		}
	})
}

// Nodes that are not ours, and those of ours that say nothing, get Curator's word.
func TestRevokeOfANodeWithoutOurData(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s, silent := z.dial(t), z.dial(t, zksync.WithoutNodeInfo())
		h, err := zksync.NewMutex(silent, p).Hold(ctx)
		ok(t, err)
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		ours := h.Node()[:len(h.Node())-10] // as a name; its data is somebody else's
		nodes := []string{
			h.Node(),
			plant(t, raw, p+"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-lock-", `{"v":1,"id":"java"}`, sequential),
			plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", sequential),
			plant(t, raw, p+"/_c_6b3b7b1c4a534c4f8a2f2f0f5a3c8f12-lock-", "", sequential),
			plant(t, raw, ours, `{"v":2,"id":"ours"}`, sequential),
			plant(t, raw, ours, "10.0.0.7", sequential),
		}
		// One that others may write, but not read.
		ok(t, raw.AddAuth("digest", []byte("raw:secret")))
		acl := append(zk.DigestACL(zk.PermAll, "raw", "secret"), zk.WorldACL(zk.PermWrite)...)
		blind, err := raw.Create(ours, []byte(`{"v":1}`), sequential, acl)
		ok(t, err)
		ok(t, s.Revoke(ctx, blind))
		if data, _ := dataOf(t, raw, blind); data != "__REVOKE__" {
			t.Errorf("%s: %s", blind, data)
		}
		for _, node := range nodes {
			for range 2 {
				ok(t, s.Revoke(ctx, node))
			}
			if data, version := dataOf(t, raw, node); data != "__REVOKE__" || version != 1 {
				t.Errorf("%s: %s at version %d", node, data, version)
			}
		}
		get(t, h.Revoked())
		for _, node := range append(nodes[1:], blind) {
			ok(t, s.Break(ctx, node))
		}
		ok(t, h.Release(ctx))
	})
}

// A name that is put into the node while it is asked back stays there.
func TestRevokeWritesOverNoNewName(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		h, err := zksync.NewMutex(z.dial(t), p).Hold(ctx)
		ok(t, err)
		proxy, s := z.behind(t)
		var mu sync.Mutex
		names := []string{`{"v":1,"id":"first"}`, `{"v":1,"id":"second"}`}
		proxy.SetHook(func(f zktest.Frame) zktest.Action {
			mu.Lock()
			defer mu.Unlock()
			if !f.FromServer && f.Op == "setData" && len(names) > 0 {
				if _, err := raw.Set(h.Node(), []byte(names[0]), -1); err != nil {
					t.Error(err)
				}
				names = names[1:]
			}
			return zktest.Pass
		})
		ok(t, s.Revoke(ctx, h.Node()))
		if got, version := dataOf(t, raw, h.Node()); got != `{"v":1,"id":"second","revoke":true}` || version != 3 {
			t.Errorf("%s at version %d", got, version)
		}
		get(t, h.Revoked())
		ok(t, h.Release(ctx))
	})
}

// A request that was made and whose answer was lost, or that was lost itself, is
// made once.
func TestRevokeWithALostAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		for _, answer := range []bool{false, true} {
			h, err := zksync.NewMutex(z.dial(t, named()...), p).Hold(ctx)
			ok(t, err)
			proxy, s := z.behind(t)
			var once sync.Once
			proxy.SetHook(func(f zktest.Frame) (do zktest.Action) {
				if f.FromServer == answer && f.Op == "setData" {
					once.Do(func() { do = zktest.DropAndCut })
				}
				return do
			})
			ok(t, s.Revoke(ctx, h.Node()))
			got, version := dataOf(t, raw, h.Node())
			if !strings.Contains(got, "till-1") || !strings.HasSuffix(got, `,"revoke":true}`) || version != 1 {
				t.Errorf("answer lost: %v: %s at version %d", answer, got, version)
			}
			get(t, h.Revoked())
			ok(t, h.Release(ctx))
		}
	})
}

// Revoke tries for as long as ctx lets it.
func TestRevokeEndsWithItsContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		h, err := zksync.NewMutex(s, "/l").Hold(short(t))
		ok(t, err)
		isError(t, other.Revoke(done(), h.Node()), context.Canceled, errCause)
		if data, version := dataOf(t, s.Conn(), h.Node()); version != 0 {
			t.Errorf("%s at version %d", data, version)
		}
		srv.Blackhole(true, true)
		ctx, cancel := context.WithTimeout(context.Background(), virtualTimeout/9)
		defer cancel()
		isError(t, other.Revoke(ctx, h.Node()), context.DeadlineExceeded)
		srv.Heal()
		ok(t, h.Release(short(t)))
	})
}
