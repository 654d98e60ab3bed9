package control

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestRequests(t *testing.T) {
	inBubble(t, func(r *rig) {
		one, two := r.client(0), r.client(1)
		r.act("forget")
		_, err := one.Create("/a", nil, 0, world)
		r.must(err)
		_, err = two.Multi(&zk.CheckVersionRequest{Path: "/a"}, &zk.CreateRequest{Path: "/a/x", Acl: world})
		r.must(err)
		_, _, err = two.Exists("/a/x")
		r.must(err)
		time.Sleep(time.Minute) // pings are no requests
		for what, want := range map[string]string{
			"":                   "create[/a] multi[/a /a/x] exists[/a/x]",
			"?op=create":         "create[/a]",
			"?result=OK&path=/a": "create[/a] multi[/a /a/x]",
			"?result=NoNode":     "",
			"?path=/a":           "create[/a] multi[/a /a/x]",
			"?below=/a":          "multi[/a /a/x] exists[/a/x]",
			"?below=/":           "create[/a] multi[/a /a/x] exists[/a/x]",
			"?below=/a/x":        "",
			"?op=getData":        "",
			"?below=/a/":         "multi[/a /a/x] exists[/a/x]",
			"?session=all":       "",
			fmt.Sprintf("?session=%d&path=/a", two.SessionID()): "multi[/a /a/x]",
		} {
			if what == "?session=all" {
				r.refuses("GET", "requests"+what, http.StatusBadRequest, "want the number of a session")
				continue
			}
			var doc Requests
			r.get("requests"+what, &doc)
			var texts []string
			for _, q := range doc.Requests {
				texts = append(texts, q.Op+fmt.Sprint(q.Paths))
				member := 0
				if q.Session == name(two.SessionID()) {
					member = 1
				}
				if q.Result != "OK" || q.Lost || q.Member != member {
					t.Errorf("%+v", q)
				}
				if doc.Counts[q.Op] != 1 || q.Session != name(one.SessionID()) && q.Session != name(two.SessionID()) || time.Since(q.At) > 2*time.Minute {
					t.Errorf("%+v", doc)
				}
			}
			if got := strings.Join(texts, " "); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
	})
}

// The path of a node whose name is to be a number ends with a slash, and so may that of a
// match.
func TestMatchOfASequentialNode(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		_, err := c.Create("/q", nil, 0, world)
		r.must(err)
		made, err := c.Create("/q/", nil, zk.FlagSequence, world)
		r.must(err)
		var doc Requests
		r.get("wait?path=/q/&timeout=0", &doc)
		if made != "/q/0000000000" || len(doc.Requests) != 1 {
			t.Errorf("%s: %+v", made, doc)
		}
	})
}

func TestWait(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		r.act("forget")
		var doc Requests
		start := time.Now()
		for i := range 3 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { c.Get(fmt.Sprint("/x/", i)) })
		}
		r.get("wait?op=getData&below=/x", &doc)
		if passed := time.Since(start); passed != time.Second || len(doc.Requests) != 1 || doc.Requests[0].Paths[0] != "/x/0" {
			t.Errorf("after %v: %+v", passed, doc)
		}
		r.get("wait?op=getData&below=/x&count=3", &doc)
		if passed := time.Since(start); passed != 3*time.Second || len(doc.Requests) != 3 {
			t.Errorf("after %v: %+v", passed, doc)
		}
		r.get("wait?op=getData&below=/x&count=2&timeout=0&result=NoNode", &doc) // they have come before

		start = time.Now()
		r.refuses("GET", "wait?op=getData&below=/x&count=4&timeout=1m", http.StatusGatewayTimeout, "3 of 4 such requests have come within 1m0s; the last ones of all: getData /x/0 NoNode, getData /x/1 NoNode, getData /x/2 NoNode")
		r.refuses("GET", "wait?path=/y", http.StatusGatewayTimeout, "0 of 1 such requests have come within 10s")
		if passed := time.Since(start); passed != 70*time.Second {
			t.Errorf("%v passed", passed)
		}
		// A write that waits for the leader has come, and is not carried out.
		r.act("cut-from-leader")
		go c.Create("/held", nil, 0, world)
		r.refuses("GET", "wait?path=/held&timeout=1", http.StatusGatewayTimeout, "0 of 1 such requests have come within 1s; the last ones of all: getData")
		if r.get("wait?path=/held&arrived=true", &doc); doc.Requests[0].Result != "" {
			t.Errorf("%+v", doc)
		}
		r.act("heal")
		if r.get("wait?path=/held", &doc); doc.Requests[0].Result != "OK" {
			t.Errorf("%+v", doc)
		}

		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() {
			defer close(over)
			r.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/wait?path=/y", nil))
		}()
		synctest.Wait()
		r.act("reset") // nobody has to wait for a test that waits
		cancel()
		<-over
	})
}
