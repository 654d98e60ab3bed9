package zktest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestServerState(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := open(t, s), open(t, s)
		a.create("/p", 0)
		a.create("/p/2", eph)
		a.create("/p/1", 0)
		a.ok(wire.OpSetData, "/p/1", []byte{}, 0)
		ida, idb := a.hi.SessionID, b.hi.SessionID
		if want := fmt.Sprintf("/p \"x\"\n/p/1\n/p/2 \"x\" %#x\n", ida); s.Tree() != want {
			t.Errorf("tree %q, want %q", s.Tree(), want)
		}
		if got := s.Children("/p"); !slices.Equal(got, []string{"1", "2"}) || s.Children("/none") != nil {
			t.Errorf("children %q", got)
		}
		data, st, ok := s.Get("/p/2")
		if want := a.stat("/p/2"); string(data) != "x" || !ok || wire.Stat(st) != want || st.EphemeralOwner != ida {
			t.Errorf("got %q, %+v, want %+v", data, st, want)
		}
		if _, _, ok := s.Get("/none"); ok {
			t.Error("a node that is not there")
		}
		info := s.Sessions()
		if len(info) != 2 || info[0].ID != ida || info[1].ID != idb || info[0].Timeout != 10*time.Second ||
			!info[0].Connected || !slices.Equal(info[0].Ephemerals, []string{"/p/2"}) || info[0].Remaining != 10500*time.Millisecond {
			t.Errorf("sessions %+v", info)
		}
		b.ok(wire.OpGetData, "/p", true)
		b.ok(wire.OpGetChildren, "/p", true)
		b.ok(wire.OpAddWatch, "/p/1", 1)
		list := []zktest.Watch{
			{Path: "/p", Session: idb}, {Path: "/p", Session: idb, Child: true},
			{Path: "/p/1", Session: idb, Lasting: true, Recursive: true}, {Path: "/p/1", Session: idb, Lasting: true, Recursive: true, Child: true},
		}
		if got := s.Watches(); !slices.Equal(got, list) {
			t.Errorf("watches %+v", got)
		}
		b.ping()
		if got := s.SessionRequests(idb); !reflect.DeepEqual(got, map[string]int{"getData": 1, "getChildren": 1, "addWatch": 1}) {
			t.Errorf("requests of b %v", got)
		}
		if got := s.Requests(); got["create"] != 3 || got["ping"] != 0 || s.Pings() != 1 {
			t.Errorf("requests %v, %d pings", got, s.Pings())
		}
		s.ResetRequests()
		if len(s.Requests()) != 0 || s.Pings() != 0 {
			t.Error("counts after the reset")
		}
	})
}

func TestServerSessionTimeouts(t *testing.T) {
	for _, tt := range []struct {
		opts  []zktest.Option
		asked int32
		want  int32
	}{
		{nil, 5000, 5000},
		{nil, 0, 1000},
		{nil, -5, 1000},
		{nil, 60_000, 10_000},
		{[]zktest.Option{zktest.WithTick(100 * time.Millisecond)}, 60_000, 2000},
		{[]zktest.Option{zktest.WithSessionLimits(3*time.Second, time.Second)}, 60_000, 3000},
		{[]zktest.Option{zktest.WithTick(0), zktest.WithSessionLimits(0, time.Hour)}, 60_000, 60_000},
	} {
		c := rawDial(t, zktest.Run(t, tt.opts...).Dial, "")
		if !c.hello(wire.ConnectRequest{Timeout: tt.asked, HasReadOnly: true}) || c.hi.Timeout != tt.want || !c.hi.HasReadOnly {
			t.Errorf("asked for %d, got %+v, want %d", tt.asked, c.hi, tt.want)
		}
	}
}

// The nodes of a session go in an order of their own, the same for a seed.
func TestServerEphemeralOrder(t *testing.T) {
	order := func(seed uint64) (events string) {
		bubble.Test(t, func(t *testing.T) {
			s := zktest.Run(t, zktest.WithSeed(seed))
			a, b := open(t, s), open(t, s)
			for i := range 8 {
				b.ok(wire.OpExists, a.create(fmt.Sprint("/n", i), eph), true)
			}
			zxid := s.Zxid()
			a.ok(wire.OpCloseSession)
			if !a.recv().closed || s.Zxid() != zxid+1 {
				t.Error("the session goes on, or took more than one transaction")
			}
			_, events = b.do(wire.OpPing)
		})
		return events
	}
	one, two := order(1), order(2)
	if one != order(1) || one == two || strings.Count(one, "deleted:/n") != 8 {
		t.Errorf("%q\n%q", one, two)
	}
}

func TestServerReaps(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		c.ok(wire.OpCreateContainer, "/never", null, open31, 4)
		c.ok(wire.OpCreateContainer, "/used", null, open31, 4)
		c.ok(wire.OpCreateTTL, "/ttl", null, open31, 5, int64(90_000))
		c.create("/used/a", 0)
		c.create("/ttl/a", 0)
		c.nc.Close()
		time.Sleep(61 * time.Second)
		if got := s.Children("/"); !slices.Equal(got, []string{"never", "ttl", "used", "zookeeper"}) {
			t.Fatalf("after a minute %q", got)
		}
		d := open(t, s)
		d.ok(wire.OpDelete, "/used/a", -1)
		d.ok(wire.OpDelete, "/ttl/a", -1)
		d.nc.Close()
		time.Sleep(time.Minute)
		if got := s.Children("/"); !slices.Equal(got, []string{"never", "zookeeper"}) {
			t.Errorf("after two minutes %q", got)
		}
	})
}

// Two connections: each gets the event before it can read the change.
func TestServerTellsOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := open(t, s), open(t, s)
		a.create("/a", 0)
		for range 50 {
			b.ok(wire.OpGetData, "/a", true)
			a.ok(wire.OpSetData, "/a", null, -1)
			if _, events := b.do(wire.OpExists, "/a", false); events != "changed:/a" {
				t.Fatalf("events before the answer: %q", events)
			}
		}
		// A client that may not read a node gets no event of it.
		a.ok(wire.OpCreate, "/secret", null, acl(31, "ip", "9.9.9.9"), 0)
		if r, _ := b.do(wire.OpExists, "/secret", true); r.Err != wire.CodeNoAuth {
			t.Errorf("%+v", r)
		}
		b.do(wire.OpExists, "/later", true)
		a.ok(wire.OpCreate, "/later", null, acl(31, "ip", "9.9.9.9"), 0)
		if _, events := b.do(wire.OpPing); events != "" {
			t.Errorf("events %q", events)
		}
		if got := len(s.Watches()); got != 0 {
			t.Errorf("%d watches", got)
		}
	})
}

func TestServerFrameLimit(t *testing.T) {
	s := zktest.Run(t)
	c := open(t, s)
	room := 1048575 - 8 - len(body("/a", []byte{}, open31, 0))
	c.ok(wire.OpCreate, "/a", make([]byte, room), open31, 0)
	if r, _ := c.do(wire.OpCreate, "/b", make([]byte, room+1), open31, 0); !r.closed {
		t.Errorf("%v", r.Err)
	}
}

func TestServerLog(t *testing.T) {
	var b bytes.Buffer
	l := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := zktest.New(zktest.WithLogger(l))
	c := open(t, s)
	c.create("/a", 0)
	s.Close()
	s.Close()
	for _, want := range []string{"session connected", "op=create path=/a"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, &b)
		}
	}
}

// No logger in the option means the default logger, and no option no log.
func TestServerLogsToTheDefaultLogger(t *testing.T) {
	was := slog.Default()
	t.Cleanup(func() { slog.SetDefault(was) })
	for want, opts := range map[bool][]zktest.Option{true: {zktest.WithLogger(nil)}, false: nil} {
		var b bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
		s := zktest.New(opts...)
		open(t, s)
		s.Close()
		if logged := b.Len() > 0; logged != want {
			t.Errorf("logged %t, want %t:\n%s", logged, want, &b)
		}
	}
}
