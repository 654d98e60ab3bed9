package control

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// status is what the servers are like.
func (c *Control) status(*request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notice()
	return c.now(), nil
}

// now is the status. The caller holds mu.
func (c *Control) now() Status {
	st := Status{
		Sessions: len(c.srv.Sessions()), Drops: c.losses.left(), Faults: c.allFaults(), Zxid: name(c.srv.Zxid()), Leader: c.leader(),
	}
	for i, addr := range c.addresses {
		st.Members = append(st.Members, Member{Member: i, Address: addr, Stopped: c.stopped[i]})
	}
	return st
}

func (c *Control) sessions(*request) (any, error) {
	doc := Sessions{Sessions: []Session{}}
	for _, s := range c.srv.Sessions() {
		doc.Sessions = append(doc.Sessions, Session{
			Session: name(s.ID), Connected: s.Connected, Timeout: s.Timeout.Seconds(), Remaining: s.Remaining.Seconds(),
			Ephemerals: append([]string{}, s.Ephemerals...),
		})
	}
	return doc, nil
}

func (c *Control) watches(*request) (any, error) {
	doc := Watches{Watches: []Watch{}}
	for _, w := range c.srv.Watches() {
		kind := "data"
		if w.Child {
			kind = "children"
		}
		doc.Watches = append(doc.Watches, Watch{Path: w.Path, Session: name(w.Session), Kind: kind, Lasting: w.Lasting, Recursive: w.Recursive})
	}
	return doc, nil
}

// own is the path of ZooKeeper's own nodes.
const own = "/zookeeper"

// tree is all nodes but the root and ZooKeeper's own, or those at and below a path.
func (c *Control) tree(r *request) (any, error) {
	root, err := r.path("path", false)
	if err != nil {
		return nil, err
	}
	doc := Tree{Nodes: []Node{}}
	if root != "" {
		if doc.Nodes = walk(c.srv, doc.Nodes, root); len(doc.Nodes) == 0 {
			return nil, refusef(http.StatusNotFound, "no node %q", root)
		}
		return doc, nil
	}
	for _, name := range c.srv.Children("/") {
		if "/"+name != own {
			doc.Nodes = walk(c.srv, doc.Nodes, "/"+name)
		}
	}
	slices.SortFunc(doc.Nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return doc, nil
}

// walk adds the node of a path, if there is one, and all below.
func walk(srv *zktest.Server, list []Node, p string) []Node {
	data, st, ok := srv.Get(p)
	if !ok {
		return list
	}
	n := Node{Path: p, Data: append([]byte{}, data...), Version: st.Version, Children: st.NumChildren}
	if text := string(data); utf8.ValidString(text) {
		n.Text = &text
	}
	if st.EphemeralOwner != 0 {
		n.Session = name(st.EphemeralOwner)
	}
	list = append(list, n)
	for _, name := range srv.Children(p) {
		list = walk(srv, list, path.Join(p, name))
	}
	return list
}
