package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Control answers the requests of the control port. The zero value is not usable: use
// [New]. It must not be copied. Its methods may be called from several goroutines.
type Control struct {
	srv       *zktest.Server
	addresses []string
	record    *zktest.Recorder
	losses    losses

	mu      sync.Mutex // held while a request changes the servers
	stopped []bool     // by member; guarded by mu
	faults  []inForce  // by member; guarded by mu
	led     int        // member that has led last, as far as is noted; guarded by mu
	lost    bool       // the quorum, whoever is stopped; guarded by mu
}

// New returns the control of a server. addresses are those of its members, all of which
// it has.
func New(srv *zktest.Server, addresses []string) *Control {
	n := len(addresses)
	return &Control{srv: srv, addresses: addresses, record: srv.Record(), stopped: make([]bool, n), faults: make([]inForce, n)}
}

// route is what a request does. A request with the method POST changes the servers.
type route struct {
	method, path string
	takes        string // parameters
	do           func(*Control, *request) (any, error)
}

// request is a request with its parameters.
type request struct {
	*http.Request
	params
}

var routes = []route{
	{"GET", "/status", "", (*Control).status},
	{"GET", "/sessions", "", (*Control).sessions},
	{"GET", "/watches", "", (*Control).watches},
	{"GET", "/tree", "path", (*Control).tree},
	{"GET", "/requests", matchParams + " result", (*Control).requests},
	{"GET", "/wait", matchParams + " result count timeout arrived", (*Control).wait},
	{"POST", "/forget", "", act((*Control).forget)},
	{"POST", "/reset", "", act((*Control).reset)},
	{"POST", "/expire", "session", act((*Control).expire)},
	{"POST", "/disconnect", "session member", actOn((*Control).disconnect)},
	{"POST", "/stop", "member", actOn((*Control).stop)},
	{"POST", "/start", "member", actOn((*Control).start)},
	{"POST", "/restart", "member expired", actOn((*Control).restart)},
	{"POST", "/refuse", "member", refuse},
	{"POST", "/accept", "member", actOn((*Control).accept)},
	{"POST", "/blackhole", "member direction", actOn((*Control).blackhole)},
	{"POST", "/delay", "member time", delay},
	{"POST", "/jitter", "member time", jitter},
	{"POST", "/lag", "member", lag},
	{"POST", "/catch-up", "member", catchUp},
	{"POST", "/cut-from-leader", "member", cut},
	{"POST", "/rejoin-leader", "member", rejoin},
	{"POST", "/lead", "member", actOn((*Control).lead)},
	{"POST", "/lose-quorum", "", act((*Control).loseQuorum)},
	{"POST", "/regain-quorum", "", act((*Control).regainQuorum)},
	{"POST", "/drop", "what count " + matchParams, act((*Control).drop)},
	{"POST", "/heal", "member", actOn((*Control).heal)},
}

// Paths returns the paths of all requests, with their parameters.
func Paths() map[string][]string {
	all := make(map[string][]string)
	for _, rt := range routes {
		all[rt.path] = strings.Fields(rt.takes)
	}
	return all
}

// refusal is an error with the status of the answer.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refusef(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// badf returns the error of a request that can't be understood.
func badf(format string, args ...any) error { return refusef(http.StatusBadRequest, format, args...) }

// ServeHTTP answers a request.
func (c *Control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	doc, err := c.answer(r)
	reply(w, doc, err)
}

// reply sends an answer.
func reply(w http.ResponseWriter, doc any, err error) {
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		if why := (*refusal)(nil); errors.As(err, &why) {
			status = why.status
		}
		doc = Failure{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(doc) // the client has gone
}

// answer does what a request asks for.
func (c *Control) answer(r *http.Request) (doc any, err error) {
	rt, err := find(r)
	if err != nil {
		return nil, err
	}
	p, err := readParams(r, strings.Fields(rt.takes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rt.path, err)
	}
	if rt.method == http.MethodPost {
		c.mu.Lock()
		defer c.mu.Unlock()
		defer portTaken(&err)
		c.notice()
	}
	doc, err = rt.do(c, &request{r, p})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rt.path, err)
	}
	return doc, nil
}

// portTaken makes an error of a panic of package zktest, which can't open the port of a
// member again if another program has taken it.
func portTaken(err *error) {
	switch why := recover().(type) {
	case nil:
	case string:
		*err = refusef(http.StatusConflict, "%s", why)
	default:
		panic(why)
	}
}

// find returns the route of a request.
func find(r *http.Request) (*route, error) {
	i := slices.IndexFunc(routes, func(rt route) bool { return rt.path == r.URL.Path })
	switch {
	case i < 0:
		return nil, refusef(http.StatusNotFound, "no %q here; there are %s", r.URL.Path, names())
	case r.Method != routes[i].method && (r.Method != http.MethodHead || routes[i].method != http.MethodGet):
		return nil, refusef(http.StatusMethodNotAllowed, "%s: want the method %s, have %s", r.URL.Path, routes[i].method, r.Method)
	}
	return &routes[i], nil
}

// names returns the paths of all routes, by their methods.
func names() string {
	var texts []string
	for i, rt := range routes {
		if i == 0 || rt.method != routes[i-1].method {
			texts = append(texts, rt.method)
		}
		texts = append(texts, rt.path)
	}
	return strings.Join(texts, " ")
}
