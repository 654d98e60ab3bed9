//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceParent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func TestShow(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock := lockPath(t)
		a := z.dial(t, zksync.WithIdentity("holder"), zksync.WithTracer(&zksync.Tracer{Parent: func(context.Context) string { return traceParent }}))
		b := z.dial(t, zksync.WithIdentity("waiter"))
		hold(t, zksync.NewMutex(a, lock).As(zksync.NewOwner("order 7")))
		wait(t, zksync.NewMutex(b, lock))
		q := z.inLine(t, a, lock, 2)
		if err := b.Revoke(t.Context(), q.Nodes[0].Node); err != nil {
			t.Fatal(err)
		}
		c := clientOf(t, z)
		for _, n := range []string{"notes", "strange-0000000007"} {
			flags := int32(0)
			if n != "notes" {
				flags = zk.FlagEphemeral
			}
			if _, err := c.Create(lock+"/"+n, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}

		out, stderr := z.says(t, 0, "show", lock)
		for _, want := range []string{
			lock + ": mutex, 1 holds, 1 waits\n", "\n1          holder for \"order 7\" on ", "\n2 -> 1     waiter on ",
			"holds (mutex), in line since 20", "waits for 1 (mutex), ", fmt.Sprintf("session %#x, fence %d, version 1, by zksync\n", uint64(a.ID()), q.Nodes[0].Fence),
			"node " + q.Nodes[1].Node[len(lock)+1:], "trace " + traceID, "asked to give the lock back", "lock nodes of another recipe, which no lock here heeds: strange-0000000007",
			"Other nodes below the path: ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		if stderr != "" {
			t.Errorf("stderr %q", stderr)
		}
		out, _ = z.says(t, 0, "show", "-o", "json", lock)
		var v view.Queue
		document(t, "queue", out, &v)
		if len(v.Nodes) != 2 || !v.Nodes[0].Held || v.Nodes[1].BlockedBy != v.Nodes[0].Node || v.Nodes[0].TraceID != traceID || !v.Nodes[0].Revoked ||
			v.Nodes[0].OwnerName != "order 7" || v.Nodes[0].Fence != q.Nodes[0].Fence || len(v.Suspects) != 1 || len(v.Other) != 2 {
			t.Errorf("%+v", v)
		}
	})
}

func TestShowNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, s := lockPath(t), z.dial(t)
		_, stderr := z.says(t, 0, "show", lock)
		if want := "zksync: nobody is in line for " + text.Name(lock) + ": there is no such path\n"; stderr != want {
			t.Errorf("stderr %q, want %q", stderr, want)
		}
		m := zksync.NewMutex(s, lock)
		m.Lock()
		m.Unlock()
		_, stderr = z.says(t, 0, "show", lock)
		if !strings.Contains(stderr, ": the lock is free\n") {
			t.Errorf("stderr %q", stderr)
		}
		out, _ := z.says(t, 0, "show", "-o", "json", lock)
		var v view.Queue
		document(t, "queue", out, &v)
	})
}

// Nodes of other libraries are shown beside ours, and one that no session owns.
func TestShowForeign(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		lock, c := lockPath(t), clientOf(t, z)
		foreign := zk.NewLock(c, lock, zk.WorldACL(zk.PermAll)) // a library of its own
		if err := foreign.Lock(); err != nil {
			t.Fatal(err)
		}
		defer foreign.Unlock()
		for _, name := range []string{
			"_c_0f3e1f2c-53f2-4d7a-9d0e-9b8f4c0a1b2c-lock-", "6f0e1f2c53f24d7a9d0e9b8f4c0a1b2c__lock__",
		} {
			flags := int32(zk.FlagEphemeralSequential)
			if strings.Contains(name, "__lock__") {
				flags = zk.FlagSequence
			}
			if _, err := c.Create(lock+"/"+name, []byte("10.0.0.7"), flags, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, zksync.NewMutex(z.dial(t, zksync.WithIdentity("ours")), lock))
		z.inLine(t, z.dial(t), lock, 4)
		out, _ := z.says(t, 0, "show", lock)
		for _, want := range []string{
			"1 holds, 3 wait\n", "\n1          no name (zk.Lock, session 0x", "\n2 -> 1     10.0.0.7\n", "\n3 -> 2     10.0.0.7\n", "session 0x0, fence ",
			"belongs to no session", "\n4 -> 3     ours on ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		out, _ = z.says(t, 0, "show", "-o", "json", lock)
		var v view.Queue
		document(t, "queue", out, &v)
		if len(v.Nodes) != 4 || v.Nodes[0].Form != "zk.Lock" || v.Nodes[2].Form != "kazoo" || v.Nodes[2].Session != "0x0" {
			t.Errorf("%+v", v.Nodes)
		}
	})
}
