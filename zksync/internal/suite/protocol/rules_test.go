package protocol_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The rules of the servers that the model is built on, shown on the embedded and on the
// real one.
func TestRulesOfTheServers(t *testing.T) {
	rules := []struct {
		name string
		show func(r *ground)
	}{
		{"a number counts the creates below the parent, and nothing else", (*ground).numbersCountCreates},
		{"a parent that is made anew counts from 0, and has another czxid", (*ground).newParentCountsAnew},
		{"a data watch reports the end of the parent, and no change of its children", (*ground).parentsWatch},
		{"a watch is silent only if no earlier write ended it", (*ground).eventComesFirst},
		{"a get-watch needs a node", (*ground).watchNeedsNode},
		{"a transaction makes a parent and its first node, or nothing", (*ground).newPath},
		{"a swap deletes and creates, or neither", (*ground).swap},
		{"a node beside another keeps its number, and counts", (*ground).beside},
		{"the end of a session deletes its nodes, and reports that", (*ground).expiry},
	}
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, rule := range rules {
			t.Run(rule.name, func(t *testing.T) {
				r := &ground{Ground: z, t: t, a: z.Raw(t), b: z.Raw(t), path: z.Path(t)}
				for p := r.path; p != "/"; p = path.Dir(p) {
					defer r.a.Delete(p, -1)
				}
				suite.Must(t, r.parents())
				rule.show(r)
			})
		}
	}, suite.Smoke)
}

// ground is a path with two clients.
type ground struct {
	*suite.Ground
	t    *testing.T
	a, b *zk.Conn
	path string
}

func (r *ground) parents() error {
	at := ""
	for _, name := range strings.Split(r.path, "/")[1:] {
		at += "/" + name
		if _, err := r.a.Create(at, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// node makes a node in line, and returns its path.
func (r *ground) node(c *zk.Conn) string {
	r.t.Helper()
	return suite.Plant(r.t, c, r.path+"/n-", "", zk.FlagEphemeral|zk.FlagSequence)
}

func (r *ground) number(node, want string) {
	r.t.Helper()
	if !strings.HasSuffix(node, want) {
		r.t.Errorf("%s, want the number %s", node, want)
	}
}

func (r *ground) stat() *zk.Stat {
	r.t.Helper()
	_, st, err := r.a.Get(r.path)
	suite.Must(r.t, err)
	return st
}

// remake deletes the empty parent, and makes it again.
func (r *ground) remake() {
	r.t.Helper()
	suite.Must(r.t, r.b.Delete(r.path, -1))
	suite.Plant(r.t, r.b, r.path, "", 0)
}

func create(path string, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: flags}
}

const inLine = zk.FlagEphemeral | zk.FlagSequence

func (r *ground) numbersCountCreates() {
	first := r.node(r.a)
	r.number(first, "0000000000")
	plain := suite.Plant(r.t, r.b, r.path+"/plain", "", 0) // counts
	if _, err := r.b.Create(plain, nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
		r.t.Error(err)
	}
	if _, err := r.b.Multi(create(r.path+"/n-", inLine), create(plain, 0)); err == nil {
		r.t.Error("the transaction succeeded")
	}
	suite.Must(r.t, r.b.Delete(plain, -1))
	suite.Must(r.t, r.a.Delete(first, -1))
	second := r.node(r.a)
	r.number(second, "0000000002")
	st := r.stat()
	if creates := (st.Cversion + st.NumChildren) / 2; creates != 3 {
		r.t.Errorf("%d creates, by cversion %d and %d children", creates, st.Cversion, st.NumChildren)
	}
	suite.Must(r.t, r.a.Delete(second, -1))
}

func (r *ground) newParentCountsAnew() {
	suite.Must(r.t, r.a.Delete(r.node(r.a), -1))
	before := r.stat().Czxid
	r.remake()
	node := r.node(r.a)
	r.number(node, "0000000000")
	_, listed, err := r.a.Children(r.path)
	suite.Must(r.t, err)
	if after := r.stat().Czxid; after <= before || listed.Czxid != after {
		r.t.Errorf("the parent's czxid is %#x, was %#x, and %#x in the list", after, before, listed.Czxid)
	}
	if _, st, err := r.a.Get(node); err != nil || st.Czxid <= listed.Czxid {
		r.t.Errorf("the node's czxid is %v, the parent's %#x, %v", st, listed.Czxid, err)
	}
	suite.Must(r.t, r.a.Delete(node, -1))
}

func (r *ground) parentsWatch() {
	_, _, events, err := r.a.GetW(r.path)
	suite.Must(r.t, err)
	suite.Must(r.t, r.b.Delete(r.node(r.b), -1))
	suite.Must(r.t, r.a.Delete(r.node(r.a), -1))
	r.silent(events)
	suite.Must(r.t, r.b.Delete(r.path, -1))
	r.event(events, zk.EventNodeDeleted)
	suite.Must(r.t, r.parents())
	_, _, events, err = r.a.GetW(r.path)
	suite.Must(r.t, err)
	_, err = r.b.Set(r.path, []byte("x"), -1)
	suite.Must(r.t, err)
	r.event(events, zk.EventNodeDataChanged)
}

// The same between sessions on different servers of three.
func TestEventComesFirstOnFollowers(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3, ensemble.WithTick(suite.Tick))
	var clients []*zk.Conn
	for _, server := range e.Addrs() {
		clients = append(clients, (&suite.Ground{Servers: []string{server}}).Raw(t))
	}
	for i, a := range clients {
		for k, b := range clients {
			if i == k {
				continue
			}
			r := &ground{t: t, a: a, b: b, path: fmt.Sprintf("/first-%d-%d", i, k)}
			suite.Must(t, r.parents())
			r.eventComesFirst()
		}
	}
}

// The parent is deleted, made anew and refilled by another session. When the create of
// the first one returns with the number that follows its last one, its watch has spoken.
func (r *ground) eventComesFirst() {
	for range 20 {
		last := r.node(r.a)
		_, _, events, err := r.a.GetW(r.path)
		suite.Must(r.t, err)
		suite.Must(r.t, r.a.Delete(last, -1))
		r.remake()
		other := r.node(r.b)
		next := r.node(r.a)
		r.number(next, "0000000001")
		select {
		case <-events:
		default:
			r.t.Error("the create was answered before the event")
		}
		suite.Must(r.t, r.a.Delete(next, -1))
		suite.Must(r.t, r.b.Delete(other, -1))
		r.remake()
	}
}

func (r *ground) watchNeedsNode() {
	watches, err := r.Watches()
	suite.Must(r.t, err)
	if _, _, _, err := r.a.GetW(r.path + "/none"); !errors.Is(err, zk.ErrNoNode) {
		r.t.Error(err)
	}
	if n, err := r.Watches(); err != nil || n != watches && r.Server != nil {
		r.t.Errorf("%d watches instead of %d, %v", n, watches, err)
	}
}

func (r *ground) newPath() {
	first := r.path + "/new"
	ops := []any{create(first, 0), create(first+"/n-", inLine)}
	res, err := r.a.Multi(ops...)
	suite.Must(r.t, err)
	r.number(res[1].String, "0000000000")
	if _, err := r.b.Multi(ops...); !errors.Is(err, zk.ErrNodeExists) {
		r.t.Error(err)
	}
	if names := suite.Children(r.t, r.a, first); len(names) != 1 {
		r.t.Error("a transaction that failed has made nodes:", names)
	}
	parent, _, err := r.a.Exists(first)
	suite.Must(r.t, err)
	_, pst, err := r.a.Get(first)
	suite.Must(r.t, err)
	_, nst, err := r.a.Get(res[1].String)
	suite.Must(r.t, err)
	if !parent || pst.Czxid != nst.Czxid {
		r.t.Errorf("the parent's czxid is %#x, the node's %#x", pst.Czxid, nst.Czxid)
	}
	suite.Must(r.t, r.a.Delete(res[1].String, -1))
	suite.Must(r.t, r.a.Delete(first, -1))
}

func (r *ground) swap() {
	old := r.node(r.a)
	ops := []any{&zk.DeleteRequest{Path: old, Version: -1}, create(r.path+"/n-", inLine)}
	res, err := r.a.Multi(ops...)
	suite.Must(r.t, err)
	r.number(res[1].String, "0000000001")
	if _, err := r.a.Multi(ops...); !errors.Is(err, zk.ErrNoNode) {
		r.t.Error(err)
	}
	if names := suite.Children(r.t, r.a, r.path); len(names) != 1 || names[0] != path.Base(res[1].String) {
		r.t.Error(names)
	}
	last := r.node(r.a)
	r.number(last, "0000000002")
	suite.Must(r.t, r.a.Delete(res[1].String, -1))
	suite.Must(r.t, r.a.Delete(last, -1))
}

func (r *ground) beside() {
	write := r.node(r.a)
	read := strings.Replace(write, "/n-", "/r-", 1)
	_, err := r.a.Multi(&zk.CheckVersionRequest{Path: write, Version: -1}, create(read, zk.FlagEphemeral))
	suite.Must(r.t, err)
	next := r.node(r.b)
	r.number(next, "0000000002")
	for _, node := range []string{write, read, next} {
		suite.Must(r.t, r.a.Delete(node, -1))
	}
	if _, err = r.a.Multi(&zk.CheckVersionRequest{Path: write, Version: -1}, create(read, zk.FlagEphemeral)); !errors.Is(err, zk.ErrNoNode) {
		r.t.Error(err)
	}
}

func (r *ground) expiry() {
	node := r.node(r.a)
	_, _, events, err := r.b.GetW(node)
	suite.Must(r.t, err)
	suite.Must(r.t, r.Expire(r.a.SessionID()))
	r.event(events, zk.EventNodeDeleted)
}

func (r *ground) event(events <-chan zk.Event, want zk.EventType) {
	r.t.Helper()
	select {
	case e := <-events:
		if e.Type != want {
			r.t.Errorf("%v, want %v", e, want)
		}
	case <-time.After(10 * time.Second):
		r.t.Errorf("no event, want %v", want)
	}
}

func (r *ground) silent(events <-chan zk.Event) {
	r.t.Helper()
	select {
	case e := <-events:
		r.t.Errorf("%v", e)
	default:
	}
}
