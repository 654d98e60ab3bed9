package zktest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

const snapshot = `/ "root" acl=world:anyone:cr
/a "\x00\"data\" in\nquotes"
"/a b" container
"/a b/c" "x" acl="digest:a b:c,d:rw",ip:10.0.0.0/8:
/a-1 ttl=1m0.5s
/e "1" ephemeral#1
/e2 ephemeral#2 acl=world:anyone:r,digest:a:3OptnM09ILoVSfbZtd3mB0IViII=:cdrwa
/e3 ephemeral#1
/ä acl=world:anyone:32
`

// What a snapshot shows is what Load makes of it.
func TestSnapshotLoads(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		must(t, s.Load("\n"+snapshot))
		if got := s.Snapshot(); got != snapshot {
			t.Fatalf("loaded\n%sof\n%s", got, snapshot)
		}
		other := zktest.Run(t)
		must(t, other.Load(strings.ReplaceAll(snapshot, "\n", "\n\n\t  ")))
		if got := other.Snapshot(); got != snapshot {
			t.Errorf("loaded again\n%s", got)
		}
		if s.Zxid() != 1 || len(s.Sessions()) != 2 {
			t.Errorf("at %d, sessions %+v", s.Zxid(), s.Sessions())
		}
		if _, st, _ := s.Get("/"); st.NumChildren != 8 {
			t.Errorf("%d children", st.NumChildren)
		}
	})
}

// A snapshot shows what clients have made.
func TestSnapshotOfClients(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		if got := s.Snapshot(); got != "" {
			t.Errorf("an empty tree: %q", got)
		}
		a, b := open(t, s), open(t, s)
		b.create("/b", eph)
		a.create("/c", eph)
		b.create("/d", eph)
		a.ok(wire.OpCreateContainer, "/cont", null, open31, 4)
		a.ok(wire.OpCreateTTL, "/ttl", []byte{}, open31, 5, int64(90_000))
		a.ok(wire.OpCreate, "/acl", null, acl(9, "ip", "127.0.0.1"), 0)
		const want = `/acl acl=ip:127.0.0.1:dr
/b "x" ephemeral#1
/c "x" ephemeral#2
/cont container
/d "x" ephemeral#1
/ttl ttl=1m30s
`
		if got := s.Snapshot(); got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

func TestSnapshotMasks(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		must(t, s.Load("/q\n/r"))
		must(t, s.SetSequence("/q", 995))
		for _, prefix := range []string{
			"/q/n-", "/q/_c_ffffffffffffffffffffffffffffffff-m-", "/q/n-", "/q/n-", "/q/n-", "/q/n-", "/q/n-", "/q/n-", "/q/n-", "/q/n-",
			"/q/_c_00000000-89ab-4cde-8f01-23456789abcd-m-", "/r/n-",
		} {
			c.create(prefix, seq)
		}
		c.create("/q/n-0000000997/below", 0)
		c.ok(wire.OpSetData, "/r", []byte("by 0123456789abcdef0123456789ABCDEF at 1"), -1)
		const want = `/q
/q/_c_{guid}-m-{2} "x"
/q/_c_{guid}-m-{11} "x"
/q/n-{1} "x"
/q/n-{3} "x"
/q/n-{3}/below "x"
/q/n-{4} "x"
/q/n-{5} "x"
/q/n-{6} "x"
/q/n-{7} "x"
/q/n-{8} "x"
/q/n-{9} "x"
/q/n-{10} "x"
/r "by {guid} at 1"
/r/n-{1} "x"
`
		if got := s.Snapshot(zktest.MaskGUIDs, zktest.MaskSequences); got != want {
			t.Errorf("got\n%s", got)
		}
		if got := s.Snapshot(zktest.MaskSequences); !strings.Contains(got, "/q/_c_ffffffffffffffffffffffffffffffff-m-{2} \"x\"\n") || !strings.Contains(got, "by 0123") {
			t.Errorf("sequences masked\n%s", got)
		}
		if got := s.Snapshot(zktest.MaskGUIDs); !strings.Contains(got, "/q/_c_{guid}-m-0000000996 \"x\"\n") {
			t.Errorf("GUIDs masked\n%s", got)
		}
	})
}

// A loaded ephemeral node goes as that of a program that has crashed.
func TestLoadEphemerals(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		must(t, s.Load("/old ephemeral#7\n/older ephemeral#9"))
		c := open(t, s)
		c.ok(wire.OpExists, "/old", true)
		if list := s.Sessions(); len(list) != 3 || list[0].Connected || list[0].Timeout != 10*time.Second {
			t.Fatalf("sessions %+v", list)
		}
		s.Expire(s.Sessions()[1].ID)
		if got := s.Snapshot(); got != "/old ephemeral#1\n" {
			t.Errorf("after Expire %q", got)
		}
		time.Sleep(6 * time.Second)
		if _, events := c.do(wire.OpPing); events != "" || s.Snapshot() == "" {
			t.Errorf("too early: %q", events)
		}
		time.Sleep(5 * time.Second)
		if _, events := c.do(wire.OpPing); events != "deleted:/old" || s.Snapshot() != "" {
			t.Errorf("events %q, tree %q", events, s.Snapshot())
		}
	})
}

// Load is a transaction: watchers hear of it, members that lag do not.
func TestLoadIsATransaction(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		member := s.AddMember()
		c, far := open(t, s), open(t, member)
		c.ok(wire.OpGetChildren, "/", true)
		member.LagUntilSync()
		zxid := s.Zxid()
		must(t, s.LoadMap(map[string]string{"/a/b/c": "x", "/a": "y", "/q/n-0000000041": "", "/q/n-0000000007": ""}))
		if _, events := c.do(wire.OpPing); events != "children:/" || s.Zxid() != zxid+1 {
			t.Errorf("events %q, %d after %d", events, s.Zxid(), zxid)
		}
		if got := s.Snapshot(); got != "/a \"y\"\n/a/b\n/a/b/c \"x\"\n/q\n/q/n-0000000007\n/q/n-0000000041\n" {
			t.Errorf("tree\n%s", got)
		}
		if r, _ := far.do(wire.OpExists, "/a", false); r.Err != wire.CodeNoNode {
			t.Errorf("a member that lags: %v", r.Err)
		}
		far.ok(wire.OpSync, "/")
		far.ok(wire.OpExists, "/a/b/c", false)
		if got := far.create("/q/n-", seq); got != "/q/n-0000000042" {
			t.Errorf("created %s", got)
		}
	})
}

// After an error all is as before.
func TestLoadErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		must(t, s.Load("/there \"x\""))
		before, zxid := s.Snapshot(), s.Zxid()
		for text, want := range map[string]string{
			"/a\n\n/b nothing":              `zktest: line 3: no kind of node: "nothing": want ephemeral#N, ttl=TIME, container, data in quotes, or acl=`,
			"/a container ttl=1s":           `line 1: a second kind of node: "ttl=1s": want one of ephemeral#N, ttl=TIME and container`,
			"/a ephemeral":                  `line 1: no kind of node: "ephemeral": want ephemeral#N`,
			"/a ephemeral#0":                `line 1: no number of a session: "ephemeral#0": want ephemeral#1 or a higher number`,
			"/a ttl=1ns":                    `line 1: no time to live: "ttl=1ns": want 1ms or more, as in ttl=1m30s`,
			"/a \"x":                        `line 1: no end of "x: want a string in quotes`,
			"\"/a":                          `line 1: no end of "/a: want a string in quotes`,
			"/a \"x\"container":             `line 1: no space before "container": want spaces between`,
			"/a container \"x\"":            `line 1: data in the wrong place: "x": want it once, right behind the path`,
			"/a acl=world":                  `line 1: not scheme:id:permissions: "world": want an entry like world:anyone:cdrwa`,
			"/a acl=world:anyone:x":         `line 1: no permission: x: want letters of cdrwa, or a number`,
			"/a acl=world:anyone:r,":        `line 1: not scheme:id:permissions: "": want an entry`,
			"/a acl=world:me:r":             `zktest: line 1: /a: InvalidACL: want world:anyone, digest:user:hash or ip:address in the ACL`,
			"/ \"x\"\n/a/b/c\n/there":       `line 3: /there: NodeExists: the node is there already`,
			"/b ephemeral#1\n/b/c":          `line 2: /b/c: NoChildrenForEphemerals: its parent is ephemeral`,
			"/a\n/a":                        `line 2: /a: NodeExists: the node is there already, or it is given twice`,
			"a":                             `line 1: a: BadArguments: want a path like /a/b`,
			"/a//b":                         `line 1: /a//b: BadArguments: want a path like /a/b, without empty names`,
			"/a \"x\" \"y\"":                `line 1: data in the wrong place: "y": want it once`,
			"/a ttl=1000000h":               `line 1: /a: BadArguments: want a time to live of at most`,
			"/q/n-0000000001\n/q/n-1\n/q//": `line 3: /q//: BadArguments: want a path`,
		} {
			if err := s.Load(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v", text, err)
			}
			if got := s.Snapshot(); got != before || s.Zxid() != zxid || len(s.Sessions()) != 0 {
				t.Fatalf("%q has changed: %s, %d after %d, %v", text, got, s.Zxid(), zxid, s.Sessions())
			}
		}
		if err := s.LoadMap(map[string]string{"/new": "", "/there": ""}); err == nil || !strings.HasPrefix(err.Error(), "zktest: /there: NodeExists: the node is there") {
			t.Errorf("a map: error %v", err)
		}
		c := open(t, s)
		if got := c.create("/there/n-", seq); got != "/there/n-0000000000" {
			t.Errorf("created %s", got)
		}
		synctest.Wait()
	})
}

// A loaded container and a loaded time to live end as others do.
func TestLoadedNodesAreReaped(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		must(t, s.Load("/c container\n/t ttl=90s\n/c/below"))
		c := open(t, s)
		c.ok(wire.OpDelete, "/c/below", -1)
		c.nc.Close()
		time.Sleep(61 * time.Second)
		if got := s.Snapshot(); got != "/t ttl=1m30s\n" {
			t.Errorf("after a minute %q", got)
		}
		time.Sleep(time.Minute)
		if got := s.Snapshot(); got != "" {
			t.Errorf("after two minutes %q", got)
		}
	})
}

// Whatever Load takes, Snapshot shows so that Load makes the same of it.
func FuzzLoad(f *testing.F) {
	f.Add(snapshot)
	f.Add("/a/b/c \"\\xff\"\n\"/\\\"\" acl=\"world:anyone:r\",ip:::1:a")
	f.Fuzz(func(t *testing.T, text string) {
		s := zktest.New()
		defer s.Close()
		if s.Load(text) != nil {
			return
		}
		first := s.Snapshot()
		other := zktest.New()
		defer other.Close()
		if err := other.Load(first); err != nil || other.Snapshot() != first {
			t.Errorf("%q has become %q, and that %q, %v", text, first, other.Snapshot(), err)
		}
	})
}
