//go:build unix

package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

func TestLs(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root := lockPath(t)
		a, b := z.dial(t, zksync.WithIdentity("first")), z.dial(t, zksync.WithIdentity("odd \x1b[31mname"))
		hold(t, zksync.NewMutex(a, root+"/one"))
		hold(t, zksync.NewMutex(a, root+"/deep/er/busy").As(zksync.NewOwner("order 7")))
		wait(t, zksync.NewMutex(b, root+"/deep/er/busy"))
		z.inLine(t, a, root+"/deep/er/busy", 2)
		wait(t, zksync.NewMutex(z.dial(t), root+"/deep/er/busy"))
		z.inLine(t, a, root+"/deep/er/busy", 3)
		hold(t, zksync.NewRWMutex(b, root+"/read").RLocker())
		hold(t, zksync.NewRWMutex(a, root+"/read").RLocker())
		if _, err := zksync.NewSemaphore(a, root+"/permits", 3).Hold(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		hold(t, zksync.NewMutex(a, root+"/kazoo", zksync.WithKazooName()))

		out, stderr := z.says(t, 0, "ls", root)
		if stderr != "" || strings.Contains(out, "\x1b") {
			t.Errorf("stdout %q, stderr %q", out, stderr)
		}
		var got []string
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			got = append(got, strings.ReplaceAll(f[0]+" "+f[2]+" "+f[3]+" "+f[4], root, ""))
		}
		want := "WAITERS LOCK KIND HELD, 2 /deep/er/busy mutex first, 0 /kazoo mutex first, 0 /one mutex first, 0 /permits semaphore first, 0 /read rwmutex \"odd"
		if strings.Join(got, ", ") != want {
			t.Errorf("%s, want %s", got, want)
		}
		for _, want := range []string{"order 7", "\"odd \ufffd[31mname\" +1"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in %s", want, out)
			}
		}

		out, _ = z.says(t, 0, "ls", "-o", "json", root)
		var list view.List
		document(t, "list", out, &list)
		busy := list.Locks[0]
		if len(list.Locks) != 5 || list.Root != root || busy.Path != root+"/deep/er/busy" || busy.Waiters != 2 || busy.Holders != 1 ||
			busy.Holder.Identity != "first" || busy.Holder.OwnerName != "order 7" || busy.WaitingSince.Before(busy.Holder.Since) {
			t.Errorf("%+v", list)
		}

		out, stderr = z.says(t, 0, "ls", root+"/none")
		if out != "" || !strings.Contains(stderr, "nobody holds a lock below "+root+"/none or waits for one") {
			t.Errorf("stdout %q, stderr %q", out, stderr)
		}
		out, _ = z.says(t, 0, "ls", "-o", "json", root+"/none")
		document(t, "list", out, &list)

		// With a chroot its root is the default.
		p := commandOn(t, z.addr+root+"/deep", "ls").Start()
		p.WantCode(0)
		if out := p.Out.String(); !strings.Contains(out, " /er/busy ") || strings.Contains(out, "one") {
			t.Errorf("below a chroot: %s", out)
		}
	})
}

// A list of many locks says how far it is, and takes little memory.
func TestLsMany(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		locks := 500
		if isLong() {
			locks = 10_000
		}
		root, c := lockPath(t), clientOf(t, z)
		for _, p := range []string{"/test", root} {
			if _, err := c.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
				t.Fatal(err)
			}
		}
		const batch = 100
		for at := 0; at < locks; at += batch {
			var ops []any
			for i := at; i < at+batch; i++ {
				lock := fmt.Sprintf("%s/lock-of-order-%d", root, i)
				ops = append(ops, &zk.CreateRequest{Path: lock, Acl: zk.WorldACL(zk.PermAll)})
				for n := range 2 {
					ops = append(ops, &zk.CreateRequest{
						Path: fmt.Sprintf("%s/_c_%08x-0000-0000-0000-%012x-lock-", lock, n, i),
						Data: fmt.Appendf(nil, `{"v":1,"id":"worker-%d","host":"node-%d.example.com","pid":%d}`, i, n, i+2),
						Acl:  zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeralSequential,
					})
				}
			}
			if _, err := c.Multi(ops...); err != nil {
				t.Fatal(err)
			}
		}
		var out proctest.Output // and not p's, which a failure prints
		p := z.command(t, "ls", "-o", "json", "--watch", "--interval", "1h", root)
		p.Stdout = &out
		start := time.Now()
		p.Start()
		proctest.Eventually(t, "the list", func() bool { return strings.HasSuffix(out.String(), "\n") })
		took, used := time.Since(start), memory(p.Process.Pid)
		p.Signal(interrupt)
		p.WantCode(exit.Signal + int(interrupt))
		var list view.List
		document(t, "list", out.String(), &list)
		if len(list.Locks) != locks || list.Locks[0].Waiters != 1 || list.Locks[locks-1].Holder == nil {
			t.Errorf("%d locks, the first %+v", len(list.Locks), list.Locks[0])
		}
		cpu := p.ProcessState.UserTime() + p.ProcessState.SystemTime()
		t.Logf("%d locks in %v, with %v of processor time and %d MB", locks, took, cpu, used>>20)
		if used > 150<<20 && !raceDetector() {
			t.Errorf("%d locks take %d MB", locks, used>>20)
		}
		if p.Err.String() != "" {
			t.Errorf("stderr %q", p.Err.String())
		}
	})
}

// memory returns the most memory that a running process has had at one time, in bytes, or
// 0 where the system does not tell.
func memory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	kb, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
	return kb << 10
}

// raceDetector reports whether the race detector is on, which takes memory of its own.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// --watch prints the list again and again.
func TestLsWatch(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root, s := lockPath(t), z.dial(t)
		for _, format := range []string{"table", "json"} {
			p := z.command(t, "ls", "--watch", "--interval", "0.1", "-o", format, root).Start()
			proctest.Eventually(t, "an empty list", func() bool { return strings.Contains(p.Out.String(), root) })
			h := hold(t, zksync.NewMutex(s, root+"/"+format))
			p.Out.Await(t, root+"/"+format)
			p.Signal(interrupt)
			p.WantCode(exit.Signal + int(interrupt))
			if format == "json" {
				for line := range strings.Lines(p.Out.String()) {
					var list view.List
					document(t, "list", line, &list)
				}
			}
			if err := h.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A path that may not be listed hides only the locks below it.
func TestLsRefusedBelow(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root, c := lockPath(t), clientOf(t, z)
		for _, lock := range []string{root + "/a", root + "/b/secret", root + "/c"} {
			hold(t, zksync.NewMutex(z.dial(t), lock))
		}
		if _, err := c.SetACL(root+"/b", zk.DigestACL(zk.PermAll, "alice", "secret"), -1); err != nil {
			t.Fatal(err)
		}
		out, stderr := z.says(t, exit.NoPermission, "ls", root)
		if !strings.Contains(out, root+"/a ") || !strings.Contains(out, root+"/c ") || strings.Contains(out, "secret") {
			t.Errorf("stdout %q", out)
		}
		if want := "zksync: the locks below these are missing, no permission to list them: " + root + "/b (without credentials: see --auth-file)\n"; stderr != want {
			t.Errorf("stderr %q, want %q", stderr, want)
		}
		out, _ = z.says(t, exit.NoPermission, "ls", "-o", "json", root)
		var list view.List
		document(t, "list", out, &list)
		if len(list.Locks) != 2 || !slices.Equal(list.Refused, []string{root + "/b"}) {
			t.Errorf("%+v", list)
		}
		out, stderr = z.says(t, exit.Unavailable, "watch", "--lines", "--timeout", "3", "--interval", "0.2", root)
		if !strings.Contains(out, root+"/c: ") || strings.Count(stderr, "the locks below "+root+"/b are missing: ") != 1 {
			t.Errorf("stdout %q, stderr %q", out, stderr)
		}
	})
}

func TestLsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		root, c := lockPath(t), clientOf(t, z)
		hold(t, zksync.NewMutex(z.dial(t), root+"/a"))
		if _, err := c.SetACL(root, zk.DigestACL(zk.PermAll, "alice", "secret"), -1); err != nil {
			t.Fatal(err)
		}
		for _, args := range operators {
			if args[len(args)-1] == "/x" {
				args = args[:len(args)-1]
			}
			args = append(args[:len(args):len(args)], root)
			_, stderr := z.says(t, exit.NoPermission, args...)
			if !strings.HasPrefix(stderr, "zksync: ") || !strings.Contains(stderr, root) || !strings.HasSuffix(stderr, " (without credentials: see --auth-file)\n") {
				t.Errorf("%q: stderr %q", args, stderr)
			}
		}
	})
}
