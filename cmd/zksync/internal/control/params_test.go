package control

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// A request with a mistake says what it is, and changes nothing.
func TestMistakes(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		_, err := c.Create("/stays", nil, 0, world)
		r.must(err)
		before := r.act("forget")
		for _, tt := range []struct {
			method, what string
			status       int
			says         string
		}{
			{"GET", "", 404, `no "/" here; there are GET /status /sessions`},
			{"GET", "reset", 405, "/reset: want the method POST, have GET"},
			{"POST", "tree", 405, "/tree: want the method GET, have POST"},
			{"POST", "expire", 400, "/expire: no session: want session=0x100000000000001, or session=all"},
			{"POST", "expire?sesion=1", 400, `/expire: unknown parameter "sesion": want session`},
			{"POST", "reset?path=/x", 400, `/reset: unknown parameter "path": there are none`},
			{"POST", "expire?session=1&session=2", 400, `"session" is given more than once`},
			{"POST", "expire?session=x", 400, `session="x": want the number of a session`},
			{"POST", "expire?session=0", 400, "want the number of a session"},
			{"POST", "expire?session=99", 404, "no session 0x63: it has ended, or there was none"},
			{"POST", "expire?session=%zz", 400, "invalid URL escape"},
			{"POST", "disconnect", 400, "no session"},
			{"POST", "stop?member=3", 404, "/stop: no member 3: they are numbered from 0 to 2"},
			{"POST", "stop?member=-1", 404, "no member -1"},
			{"POST", "refuse?member=first", 400, `member="first": want the number of a member, from 0 to 2`},
			{"POST", "delay", 400, "/delay: no time: want time=250ms, or time=0 to end it"},
			{"POST", "delay?time=soon", 400, `time="soon": want a time like 250ms, 1m30s or plain seconds`},
			{"POST", "jitter?time=-1s", 400, "must not be negative"},
			{"POST", "jitter?time=NaN", 400, "want a time"},
			{"POST", "blackhole?direction=up", 400, `direction="up": want to-server or to-client`},
			{"POST", "restart?expired=yes", 400, `expired="yes": want true or false`},
			{"POST", "restart?expired=true&member=1", 400, "give expired=true without member"},
			{"POST", "drop", 400, `what="": want request or reply`},
			{"POST", "drop?what=reply&count=0", 400, `count="0": want a number from 1 to 10000`},
			{"POST", "drop?what=reply&below=x", 400, "a path starts with a slash"},
			{"POST", "drop?what=reply&path=/a//b", 400, `/drop: path="/a//b": a path has no empty element`},
			{"GET", "wait?below=/..", 400, `below="/..": a path has no element ".."`},
			{"GET", "requests?session=?", 400, "want the number of a session"},
			{"GET", "wait?count=x", 400, "want a number from 1"},
			{"GET", "wait?timeout=x", 400, "want a time"},
		} {
			r.refuses(tt.method, tt.what, tt.status, tt.says)
		}
		if after := r.act("forget"); !reflect.DeepEqual(after, before) {
			t.Errorf("%+v has become %+v", before, after)
		}
	})
}

// Parameters come in the query, as a form or as JSON, whatever the type of the body says.
func TestBodies(t *testing.T) {
	inBubble(t, func(r *rig) {
		post := func(kind, body string) *http.Request {
			q := httptest.NewRequest("POST", "http://127.0.0.1/expire", strings.NewReader(body))
			q.Header.Set("Content-Type", kind)
			return q
		}
		const form = "application/x-www-form-urlencoded"
		for i, text := range []string{"session=%d", "session=%#x", `{"session": %d}`, `{"session": "%#x"}`, ` {"session":"%d","ignored":null}`} {
			for _, kind := range []string{form, "application/json", ""} {
				var st Status
				id := r.client(0).SessionID()
				r.decode(post(kind, fmt.Sprintf(text, id)), &st)
				for _, s := range r.srv.Sessions() {
					if s.ID == id {
						t.Errorf("body %d, %s: the session lives", i, kind)
					}
				}
			}
		}
		for text, says := range map[string]string{
			`{"session": 1`:               "the body is not an object of JSON",
			`{"session": 1}{}`:            "more than one object",
			`{"session": [1]}`:            `"session" is neither a text nor a number`,
			`{"member": 1}`:               `unknown parameter "member"`,
			"a=%":                         "invalid URL escape",
			strings.Repeat("x", 1<<17):    "request body too large",
			`{"session": 1e3}`:            "want the number of a session",
			"session=1&" + "session=2":    "more than once",
			`{"session":"1","session":2}`: "no session 0x2",
		} {
			q := post(form, text)
			status := http.StatusBadRequest
			if strings.HasPrefix(says, "no ") {
				status = http.StatusNotFound
			}
			r.wantRefusal(q, status, says)
		}
		q := post(form, `{"session": 1}`)
		q.URL.RawQuery = "session=1"
		r.wantRefusal(q, http.StatusBadRequest, "more than once")
	})
}

// A page that a browser shows can't use the control port, neither by its own name nor by
// one that was made to lead here.
func TestGuard(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.handler = Guard(r.Control, "zk.test")
		for host, ok := range map[string]bool{
			"127.0.0.1:9": true, "127.0.0.1": true, "[::1]:9": true, "[::1]": true, "[fe80::1%eth0]:9": true, "10.0.0.7:9": true,
			"localhost": true, "LocalHost:9": true, "zk.test:9": true, "ZK.test": true,
			"": false, "example.com": false, "localhost.example.com": false, "127.0.0.1.example.com:9": false, "test": false, "[zk]:9": false,
		} {
			q := httptest.NewRequest("GET", "http://127.0.0.1/status", nil)
			q.Host = host
			if ok {
				r.decode(q, new(Status))
			} else {
				r.wantRefusal(q, http.StatusForbidden, fmt.Sprintf("the host %q is not one of this server", host))
			}
		}
		for _, tt := range []struct{ header, value, from string }{
			{"Origin", "http://example.com", `"http://example.com"`}, {"Origin", "null", `"null"`}, {"Sec-Fetch-Site", "cross-site", "another origin"},
		} {
			q := httptest.NewRequest("POST", "http://127.0.0.1/reset", nil)
			q.Header.Set(tt.header, tt.value)
			r.wantRefusal(q, http.StatusForbidden, "a web page of "+tt.from+" has made this request, and web pages can't use the control port; a program sends neither")
		}
	})
}
