package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the ACL of the nodes in these tests.
var world = zk.WorldACL(zk.PermAll)

// rig is a server of three members with its control, in a bubble's time.
type rig struct {
	*testing.T
	srv *zktest.Server
	*Control
	handler http.Handler
}

func inBubble(t *testing.T, do func(*rig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		srv.AddMember()
		srv.AddMember()
		c := New(srv, []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"})
		do(&rig{T: t, srv: srv, Control: c, handler: Guard(c)})
	})
}

// client returns go-zookeeper's client with a session by a member.
func (r *rig) client(member int) *zk.Conn {
	r.Helper()
	c, events, err := zk.Connect([]string{"127.0.0.1:1"}, 6*time.Second, zk.WithDialer(r.srv.Member(member).Dial),
		zk.WithLogger(mute{}), zk.WithLogInfo(false))
	r.must(err)
	r.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	_, _, err = c.Exists("/")
	r.must(err)
	return c
}

type mute struct{}

func (mute) Printf(string, ...any) {}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// send makes a request, whose answer has to be as the schema says.
func (r *rig) send(q *http.Request) (status int, body string) {
	r.Helper()
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		r.Errorf("%s %s: the answer is %s", q.Method, q.URL, kind)
	}
	part := "status"
	switch name := q.URL.Path[1:]; {
	case w.Code != http.StatusOK:
		part = "failure"
	case name == "wait":
		part = "requests"
	case q.Method == http.MethodGet:
		part = name
	}
	if schematest.Check(r, "schema.json", w.Body.String(), part); strings.Count(w.Body.String(), "\n") != 1 {
		r.Fatalf("not one line: %q", w.Body.String())
	}
	return w.Code, w.Body.String()
}

// act makes a request with the method POST, which has to succeed.
func (r *rig) act(format string, args ...any) (st Status) {
	r.Helper()
	r.decode(httptest.NewRequest("POST", "http://127.0.0.1/"+fmt.Sprintf(format, args...), nil), &st)
	return st
}

// get makes a request with the method GET, which has to succeed.
func (r *rig) get(what string, doc any) {
	r.Helper()
	r.decode(httptest.NewRequest("GET", "http://127.0.0.1/"+what, nil), doc)
}

func (r *rig) decode(q *http.Request, doc any) {
	r.Helper()
	status, body := r.send(q.WithContext(context.Background()))
	if status != http.StatusOK {
		r.Fatalf("%s %s: status %d: %s", q.Method, q.URL, status, body)
	}
	reflect.ValueOf(doc).Elem().SetZero() // what is not in the body would stay from before
	r.must(json.Unmarshal([]byte(body), doc))
}

// refuses makes a request, which has to fail.
func (r *rig) refuses(method, what string, status int, says string) {
	r.Helper()
	r.wantRefusal(httptest.NewRequest(method, "http://127.0.0.1/"+what, nil), status, says)
}

func (r *rig) wantRefusal(q *http.Request, status int, says string) {
	r.Helper()
	got, body := r.send(q)
	var why Failure
	r.must(json.Unmarshal([]byte(body), &why))
	if got != status || !strings.Contains(why.Error, says) {
		r.Errorf("%s %s: status %d: %s, want %d: %s", q.Method, q.URL, got, why.Error, status, says)
	}
}
