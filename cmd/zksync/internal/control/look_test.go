package control

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
)

func TestSessionsWatchesAndTree(t *testing.T) {
	inBubble(t, func(r *rig) {
		var sessions Sessions
		var watches Watches
		var tree Tree
		r.get("sessions", &sessions)
		r.get("watches", &watches)
		r.get("tree", &tree)
		if n := len(sessions.Sessions) + len(watches.Watches) + len(tree.Nodes); n != 0 {
			t.Errorf("at the start: %v, %v, %v", sessions, watches, tree)
		}

		c := r.client(1)
		id := name(c.SessionID())
		for path, data := range map[string]string{"/a": "text", "/b": "\xff", "/a-": ""} {
			_, err := c.Create(path, []byte(data), 0, world)
			r.must(err)
		}
		_, err := c.Create("/a/x", nil, zk.FlagEphemeral, world)
		r.must(err)
		_, err = c.Set("/b", []byte("\xfe"), -1)
		r.must(err)
		_, _, _, err = c.ChildrenW("/a")
		r.must(err)
		_, _, _, err = c.ExistsW("/none")
		r.must(err)

		r.get("sessions", &sessions)
		if s := sessions.Sessions[0]; s.Session != id || !s.Connected || s.Timeout != 6 || s.Remaining <= 5 || !slices.Equal(s.Ephemerals, []string{"/a/x"}) {
			t.Errorf("the session %s is %+v", id, s)
		}
		r.get("watches", &watches)
		if want := []Watch{
			{Path: "/a", Session: id, Kind: "children"}, {Path: "/none", Session: id, Kind: "data"},
		}; !slices.Equal(watches.Watches, want) {
			t.Errorf("watches %+v, want %+v", watches.Watches, want)
		}
		r.get("tree", &tree)
		text, none := "text", ""
		want := []Node{
			{Path: "/a", Data: []byte("text"), Text: &text, Children: 1}, {Path: "/a-", Data: []byte{}, Text: &none},
			{Path: "/a/x", Data: []byte{}, Text: &none, Session: id}, {Path: "/b", Data: []byte{0xfe}, Version: 1},
		}
		if !reflect.DeepEqual(tree.Nodes, want) {
			t.Errorf("the tree is %+v, want %+v", tree.Nodes, want)
		}
		for path, want := range map[string]string{"/a": "/a /a/x", "/a/x": "/a/x", "/zookeeper": "/zookeeper /zookeeper/config /zookeeper/quota"} {
			r.get("tree?path="+path, &tree)
			var paths []string
			for _, n := range tree.Nodes {
				paths = append(paths, n.Path)
			}
			if got := strings.Join(paths, " "); got != want {
				t.Errorf("at %s: %s", path, got)
			}
		}
		r.refuses("GET", "tree?path=/none", http.StatusNotFound, `no node "/none"`)
		r.refuses("GET", "tree?path=a", http.StatusBadRequest, "a path starts with a slash")
		for path, says := range map[string]string{
			"/a/": "a path does not end with a slash", "//": "a path has no empty element", "/a//x": "a path has no empty element",
			"/a/../b": `a path has no element ".."`, "/.": `a path has no element "."`,
		} {
			r.refuses("GET", "tree?path="+path, http.StatusBadRequest, fmt.Sprintf("/tree: path=%q: %s", path, says))
		}
		r.get("tree?path=/", &tree)
		if len(tree.Nodes) != 8 { // the root and ZooKeeper's own too
			t.Errorf("at the root: %+v", tree)
		}
	})
}

// The schema has every field of every document, and no other.
func TestSchemaHasEveryField(t *testing.T) {
	schematest.Fields(t, "schema.json", map[string]any{
		"status": Status{}, "fault": Fault{}, "member": Member{}, "sessions": Sessions{}, "session": Session{}, "watches": Watches{}, "watch": Watch{},
		"tree": Tree{}, "node": Node{}, "requests": Requests{}, "request": Request{}, "failure": Failure{},
	})
}
