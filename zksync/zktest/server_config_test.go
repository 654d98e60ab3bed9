package zktest_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

const (
	configPath  = "/zookeeper/config"
	superDigest = "D/InIHSb7yEEbrWz8b9l71RjZJU=" // of super:test
)

// change is a reconfig request, and the answer in short: the error, or the lines of the
// configuration without that of the only server, OWN, and the version, which has to be
// the zxid.
type change struct {
	joining, leaving, members any
	version                   int64
	want                      string
}

func join(servers, want string) change { return change{servers, nil, nil, -1, want} }
func leave(ids, want string) change    { return change{nil, ids, nil, -1, want} }
func replace(list, want string) change { return change{"junk", "junk", list, -1, want} }

const nine = "127.0.0.9:1:2:observer;0.0.0.0:3"

var reconfigsOfAnybody = []change{
	{nil, nil, nil, -1, "NoAuth"},
	{nil, nil, nil, 77, "BadVersion"},
	{nil, "x", nil, 77, "BadVersion"},
	join("server.2=127.0.0.1:2888:3888;2181", "NewConfigNoQuorum"),
	leave("1", "BadArguments"),
	leave("x", "MarshallingError"),
	join("nonsense", "BadArguments"),
	join("server.1=OWN;33333", "NoAuth"),
	replace("server.1=OWN", "NoAuth"),
}

var reconfigsOfSuper = []change{
	join("", ""),
	{"", "", nil, -1, ""},
	leave("2", ""),
	leave(" 2 , 3", ""),
	leave("1", "BadArguments"),
	{nil, "", "", -1, "MarshallingError"},
	join("server.2=127.0.0.1:2888:3888", "BadArguments"),
	join("server.2=127.0.0.1:2888:3888;", "BadArguments"),
	join("server.2=127.0.0.1:2888;2181", "BadArguments"),
	join("server.x=127.0.0.1:1:2;3", "MarshallingError"),
	join("2=127.0.0.1:2888:3888;2181", "NewConfigNoQuorum"),
	join("server.2=127.0.0.1:2888:3888:nonsense;2181", "BadArguments"),
	join("server.8=127.0.0.8:a:b;1", "BadArguments"),
	join("server.10=127.0.0.1:99999:1;1", "MarshallingError"),
	join("server.11=127.0.0.11:1:2:observer;3|127.0.0.12:4:5", "BadArguments"),
	join("server.12=127.0.0.12:1:2|127.0.0.13:1:2:observer;3", "BadArguments"),
	join("server.13=127.0.0.14:1:1:observer;1", "BadArguments"),
	join("server.14=127.0.0.14:1:2:observer:x;1", "BadArguments"),
	join("server.15=a=b", "BadArguments"),
	join("server.9=127.0.0.9:1:2:;3", "NewConfigNoQuorum"),
	join("server.1=OWN:observer;5", "BadArguments"),
	join("server.9=127.0.0.9:1:2:observer;3", "server.9="+nine),
	join("server.10=127.0.0.9:1:2:observer;3", "server.9="+nine+" server.10="+nine),
	{"server.9=127.0.0.9:1:2:observer;127.0.0.9:4", "9,10", nil, -1, "server.9=127.0.0.9:1:2:observer;127.0.0.9:4"},
	{nil, "9", nil, 1, "BadVersion"},
	leave("9", ""),
	join(" server.4 = 127.0.0.4:2888:3888:OBSERVER;127.0.0.4:2181 ", "server.4=127.0.0.4:2888:3888:observer;127.0.0.4:2181 OWN"),
	{"server.5=localhost:5:6:observer;localhost:7,server.6=[::1]:5:6:observer;[::1]:7", "4", nil, -1,
		"server.5=localhost:5:6:observer;localhost:7 server.6=[0:0:0:0:0:0:0:1]:5:6:observer;[0:0:0:0:0:0:0:1]:7"},

	replace("server.1=OWN\nversion=7", ""),
	replace("nonsense", "BadArguments"),
	replace("server.2=127.0.0.1:2888:3888;2181", "NewConfigNoQuorum"),
	replace("", "MarshallingError"),
	replace("weight.1=1,server.1=OWN", "BadArguments"),
	replace("server.1=OWN\nfoo=bar", "BadArguments"),
	replace("version=5", "MarshallingError"),
	replace("server.1=OWN,version=zz", "MarshallingError"),
	replace("#x\nserver.1=OWN", ""),
	replace("server.1=OWN:observer;3", "MarshallingError"),
	replace("server.x=1", "MarshallingError"),
	replace("server.1=OWN:nonsense", "BadArguments"),
	replace("server.1=OWN,server.2=127.0.0.9:1:2:observer;3", "server.2="+nine),
	replace("server.1=OWN\nserver.3 127.0.0.9:1:2:observer;3\n\n server.4: 127.0.0.9:1:2:observer;3\n", "server.3="+nine+" server.4="+nine),
	replace("server.1=OWN\nserver.2=127.0.0.9:1:2:observer", "server.2=127.0.0.9:1:2:observer"),
	replace("server.1=OWN\nserver.2=127.0.0.9:1:2:observer;", "server.2=127.0.0.9:1:2:observer"),
	replace("server.1=OWN\nserver.2=127.0.0.9:1:observer", "BadArguments"),
	replace("server.1=OWN\nserver.2=127.0.0.9:1", "BadArguments"),
	replace("server.1=OWN\nserver.7=127.0.0.7:1:2;3", "NewConfigNoQuorum"),
	replace("server.1=127.0.0.7:1:2:observer;3\nserver.1=OWN", ""),
	replace(" server.1=OWN\\\n", ""),
	replace("server.1=OWN ", "BadArguments"),
	replace("server.1=OWN:participant ", ""),

	// The order of a hash table.
	join("server.4=127.0.0.9:1:2:observer;3", "server.4="+nine+" OWN"),
	join("server.2=127.0.0.9:1:2:observer;3", "server.4="+nine+" OWN server.2="+nine),
	join("server.-3=127.0.0.9:1:2:observer;3,server.256=127.0.0.9:1:2:observer;3,server.34=127.0.0.9:1:2:observer;3",
		"server.256="+nine+" OWN server.2="+nine+" server.-3="+nine+" server.34="+nine+" server.4="+nine),
	join("server.20=127.0.0.9:1:2:observer;3,server.4=127.0.0.9:1:2:observer;3",
		"server.256="+nine+" OWN server.2="+nine+" server.-3="+nine+" server.34="+nine+" server.20="+nine+" server.4="+nine),
	leave("-3,256,34,4,20,2", ""),
}

// eachReconfig runs a test on one server in memory and one real one that let clients
// change the configuration, or not.
func eachReconfig(t *testing.T, enabled bool, f func(t *testing.T, c *rawConn)) {
	run := func(t *testing.T, c *rawConn) {
		if !c.hello(wire.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)}) {
			t.Fatal("no session")
		}
		f(t, c)
	}
	t.Run("memory", func(t *testing.T) {
		opts := []zktest.Option{zktest.WithSuperDigest(superDigest)}
		if enabled {
			opts = append(opts, zktest.WithReconfig())
		}
		run(t, rawDial(t, zktest.Run(t, opts...).Dial, ""))
	})
	t.Run("real", func(t *testing.T) {
		e := ensemble.Run(t, 1, ensemble.WithSuperDigest(superDigest),
			ensemble.WithConfig(map[string]string{"reconfigEnabled": fmt.Sprint(enabled)}))
		keepAwake(t, dialTCP(e.Addr(0)))
		run(t, rawDial(t, net.DialTimeout, e.Addr(0)))
	})
}

// prove gives a raw connection an identity of the scheme digest.
func (c *rawConn) prove(user string) {
	c.t.Helper()
	c.sendXid(-4, wire.OpAuth, 0, "digest", []byte(user))
	if r := c.recv(); r.closed || r.Err != wire.CodeOK {
		c.t.Fatalf("auth: %+v", r)
	}
}

// config reads the configuration, and leaves a watch.
func (c *rawConn) config() (lines []string, st wire.Stat) {
	c.t.Helper()
	d := c.ok(wire.OpGetData, configPath, true)
	return strings.Split(string(d.Buffer()), "\n"), d.Stat()
}

// Each request is answered as ZooKeeper answers it.
func TestReconfig(t *testing.T) {
	eachReconfig(t, true, func(t *testing.T, c *rawConn) {
		lines, st := c.config()
		if len(lines) != 2 || lines[1] != fmt.Sprintf("version=%x", st.Mzxid) || st.Version != -1 || st.Aversion != -1 || st.Czxid != 0 || st.Ctime != 0 {
			t.Fatalf("at first %q %+v", lines, st)
		}
		own, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "server.1="), ":participant")
		for _, ch := range reconfigsOfAnybody {
			ch.check(c, own, "")
		}
		c.prove("super:wrong")
		reconfigsOfAnybody[0].check(c, own, "")
		c.prove("super:test")
		watch := "changed:" + configPath
		for _, ch := range reconfigsOfSuper {
			ch.check(c, own, watch)
			c.config() // which watches again
		}
		_, st = c.config()
		ok := change{nil, nil, nil, st.Mzxid, ""}
		ok.check(c, own, watch)
		// The permission can be given to anybody.
		if d := c.ok(wire.OpSetACL, configPath, open31, -1); d.Stat().Aversion != 0 {
			t.Error("setACL")
		}
		c.ok(wire.OpSetData, configPath, []byte("x"), -1)
		join("", "").check(c, own, "")
		if r, _ := c.do(wire.OpReconfig, nil); !r.closed {
			t.Errorf("malformed: %+v", r)
		}
	})
}

// check sends the request, and checks the answer and the events before it.
func (ch change) check(c *rawConn, own, events string) {
	c.t.Helper()
	put := func(text any) any {
		if s, ok := text.(string); ok {
			return strings.ReplaceAll(s, "OWN", own)
		}
		return text
	}
	zxid := c.zxid
	r, told := c.do(wire.OpReconfig, put(ch.joining), put(ch.leaving), put(ch.members), ch.version)
	got := fmt.Sprint(r.Err)
	if r.Err == wire.CodeOK && !r.closed {
		d := wire.NewDecoder(r.body)
		lines, st := strings.Split(string(d.Buffer()), "\n"), d.Stat()
		last := len(lines) - 1
		if d.Err() != nil || lines[last] != fmt.Sprintf("version=%x", r.Zxid) {
			c.t.Errorf("%+v: %q, %v", ch, lines, d.Err())
		}
		if st.Mzxid != r.Zxid || st.Version != -1 || st.Czxid != 0 || st.Pzxid != 0 || int(st.DataLength) != len(strings.Join(lines, "\n")) {
			c.t.Errorf("%+v: %+v", ch, st)
		}
		got = strings.Join(lines[:last], " ")
		got = strings.Replace(got, "server.1="+own+":participant", "OWN", 1)
		got = strings.Replace(got, "OWN;127.0.0.1:2181", "OWN", 1) // the real one has its port for clients elsewhere
		got = strings.TrimPrefix(strings.TrimPrefix(got, "OWN"), " ")
	} else {
		events = ""
	}
	if r.closed || got != ch.want || told != events || r.Zxid != zxid+1 {
		c.t.Errorf("%+v: closed %t, %q, events %q, zxid %#x after %#x", ch, r.closed, got, told, r.Zxid, zxid)
	}
}

func TestReconfigDisabled(t *testing.T) {
	eachReconfig(t, false, func(t *testing.T, c *rawConn) {
		lines, st := c.config()
		if len(lines) != 2 || lines[1] != "version=0" || st.Mzxid != 0 || st.Version != -1 {
			t.Errorf("%q %+v", lines, st)
		}
		c.prove("super:test")
		for _, ch := range reconfigsOfSuper[:8] {
			ch.want = "ReconfigDisabled"
			ch.check(c, "", "")
		}
		if r, _ := c.do(wire.OpReconfig, nil); !r.closed {
			t.Errorf("malformed: %+v", r)
		}
	})
}

// The super user needs no permission.
func TestSuperUser(t *testing.T) {
	eachReconfig(t, false, func(t *testing.T, c *rawConn) {
		c.ok(wire.OpCreate, "/a", []byte("x"), acl(31, "digest", digestAB), 0)
		if r, _ := c.do(wire.OpGetData, "/a", false); r.Err != wire.CodeNoAuth {
			t.Errorf("%v", r.Err)
		}
		c.prove("super:test")
		c.ok(wire.OpGetData, "/a", false)
		if d := c.ok(wire.OpGetACL, "/a"); d.ACLs()[0].ID != digestAB {
			t.Error("the ACL is hidden")
		}
		c.ok(wire.OpSetACL, "/a", acl(1, "world", "anyone"), -1)
		c.ok(wire.OpCreate, "/a/b", null, acl(3, "auth", ""), 0)
		if d := c.ok(wire.OpGetACL, "/a/b"); fmt.Sprint(d.ACLs()) != "[{3 digest super:"+superDigest+"}]" {
			t.Error("auth stands for more than the digest")
		}
		c.ok(wire.OpDelete, "/a/b", -1)
		d := c.ok(wire.OpWhoAmI)
		if list := d.ClientInfos(); len(list) != 3 || !slices.Contains(list, wire.ClientInfo{Scheme: "super"}) {
			t.Errorf("whoAmI: %+v", list)
		}
	})
}

// What a new configuration means for the members and their clients, as three real
// servers and one that joined them did it.
func TestReconfigMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *zktest.Server) {
		s := zktest.Run(t, zktest.WithReconfig(), zktest.WithSuperDigest(superDigest))
		s.AddMember()
		s.AddMember()
		var cs []*rawConn
		connect := func() {
			cs = nil
			for i := range 4 {
				c := open(t, s.Member(i))
				c.prove("super:test")
				cs = append(cs, c)
			}
		}
		open(t, s).create("/a", 0)
		s.AddMember() // is not in the configuration
		connect()
		do := func(i int, ch change, want int) {
			t.Helper()
			r, _ := cs[i].do(wire.OpReconfig, ch.joining, ch.leaving, ch.members, ch.version)
			if r.closed || fmt.Sprint(r.Err) != ch.want {
				t.Errorf("%+v: closed %t %v", ch, r.closed, r.Err)
			}
			if lines, _ := cs[(i+1)%4].config(); r.Err == wire.CodeOK && len(lines) != want+1 {
				t.Errorf("%+v: %q", ch, lines)
			}
		}
		line := func(i int) string {
			return fmt.Sprintf("server.%d=127.0.0.%d:2888:3888:participant;127.0.0.%d:2181", i, i, i)
		}
		do(1, leave("3", "OK"), 2)
		cs[2].create("/b", 0) // it serves its clients still
		do(2, join(line(3), "OK"), 3)
		do(0, join(line(4), "OK"), 4)
		do(0, join(line(5)+","+line(6)+","+line(7)+","+line(8), "NewConfigNoQuorum"), 0)
		s.Member(2).CutFromLeader()
		do(0, join(line(5)+","+line(6), "NewConfigNoQuorum"), 0)
		s.Member(2).RejoinLeader()
		// Who becomes an observer starts anew.
		do(0, join(strings.Replace(line(4), "participant", "observer", 1), "OK"), 4)
		if !cs[3].ends(1) {
			t.Error("a member keeps its connection in another role")
		}
		cs[1].config()
		if s.Zxid()>>32 != 0 || s.Leader() != s.Member(0) {
			t.Error("an election without need")
		}
		// A leader that is taken out answers, and another one is elected.
		r, _ := cs[0].do(wire.OpReconfig, nil, "1", nil, int64(-1))
		if r.closed || r.Err != wire.CodeOK || s.Leader() != s.Member(1) || s.Zxid() != 1<<32 {
			t.Errorf("%+v, zxid %#x", r, s.Zxid())
		}
		for i, c := range cs[:3] {
			if !c.ends(1) {
				t.Errorf("the connection to member %d stands", i)
			}
		}
		connect()
		do(0, join(line(1), "OK"), 4)
	})
}

// go-zookeeper's calls, with a watch.
func TestReconfigByClient(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *zktest.Server) {
		s := zktest.Run(t, zktest.WithReconfig(), zktest.WithSuperDigest(superDigest))
		s.AddMember().LagUntilSync()
		s.AddMember()
		conn, _ := client(t, s.Member(2).Dial, 1e10)
		must(t, conn.AddAuth("digest", []byte("super:test")))
		old, _, events, err := conn.GetW(configPath)
		must(t, err)
		st, err := conn.IncrementalReconfig(nil, []string{"3"}, 0)
		must(t, err)
		if ev := <-events; ev.Type != zk.EventNodeDataChanged || ev.Path != configPath {
			t.Errorf("%+v", ev)
		}
		now, _, err := conn.Get(configPath)
		must(t, err)
		if want := fmt.Sprintf("version=%x", st.Mzxid); len(now) >= len(old) || !strings.HasSuffix(string(now), want) {
			t.Errorf("%q after %q", now, old)
		}
		if _, err := conn.IncrementalReconfig(nil, []string{"2"}, 1); err != zk.ErrBadVersion {
			t.Errorf("error %v", err)
		}
		lines := strings.Split(string(old), "\n")
		if _, err = conn.Reconfig(lines[:3], st.Mzxid); err != nil {
			t.Error(err)
		}
		lagging, _ := client(t, s.Member(1).Dial, 1e10)
		_, err = lagging.Sync("/")
		must(t, err)
		if now, _, err = lagging.Get(configPath); err != nil || strings.Count(string(now), "participant") != 3 {
			t.Errorf("%q %v", now, err)
		}
	})
}

// The configuration has the members that were added before the first transaction, also
// before the first one after Reset. A later one has to join.
func TestAddMemberToTheConfiguration(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *zktest.Server) {
		s := zktest.Run(t, zktest.WithReconfig())
		for i, want := range []int{2, 4} { // each round adds two
			s.AddMember()
			c := open(t, s)
			c.create("/a", 0)
			s.AddMember()
			if lines, _ := c.config(); len(lines) != want+1 {
				t.Errorf("after %d resets: %q", i, lines)
			}
			s.Reset()
			want++
			if lines, _ := open(t, s).config(); len(lines) != want+1 {
				t.Errorf("just after Reset: %q", lines)
			}
			s.Reset()
		}
	})
}

// After Reset the configuration and the leader are as at first.
func TestResetOfTheEnsemble(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *zktest.Server) {
		s := zktest.Run(t, zktest.WithReconfig(), zktest.WithSuperDigest(superDigest))
		s.AddMember()
		s.AddMember()
		c := open(t, s)
		c.prove("super:test")
		first, _ := c.config()
		c.ok(wire.OpReconfig, nil, "1", nil, int64(-1))
		s.AddMember()
		s.LoseQuorum()
		s.Reset()
		again, _ := open(t, s).config()
		if len(first) != 4 || len(again) != 5 || again[4] != "version=0" || s.Leader() != s.Member(0) {
			t.Errorf("%q became %q", first, again)
		}
	})
}
