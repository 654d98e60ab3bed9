package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// maxCount is how many requests can be waited for or lost. The server's recorder keeps so
// many.
const maxCount = 10000

// matchParams are the parameters of a [match].
const matchParams = "op path below session"

// match chooses requests. The zero value chooses all.
type match struct {
	op, path, below string
	session         int64
	result          string // not of a request that is to be lost
}

// readMatch returns the choice of a request's parameters.
func readMatch(p params) (m match, err error) {
	m.op, m.result = p["op"], p["result"]
	if err := checkOp(m.op); err != nil {
		return m, err
	}
	if err := checkResult(m.result); err != nil {
		return m, err
	}
	if m.path, err = p.path("path", true); err != nil {
		return m, err
	}
	if m.below, err = p.path("below", true); err != nil {
		return m, err
	}
	if text := p["session"]; text != "" {
		m.session, err = parseSession(text)
	}
	return m, err
}

// fits reports whether a request is chosen. A multi is chosen by any of its paths.
func (m match) fits(q zktest.Request) bool {
	below := strings.TrimSuffix(m.below, "/") + "/"
	return (m.op == "" || m.op == q.Op) && (m.session == 0 || m.session == q.Session) &&
		(m.path == "" || slices.Contains(q.Paths, m.path)) &&
		(m.below == "" || slices.ContainsFunc(q.Paths, func(p string) bool { return strings.HasPrefix(p, below) && p != below }))
}

// has reports whether a request that has come is chosen.
func (m match) has(rec zktest.Record) bool {
	return m.fits(rec.Request) && (m.result == "" || m.result == rec.Result)
}

// requests is the requests that have come since the last reset or forget.
func (c *Control) requests(r *request) (any, error) {
	m, err := readMatch(r.params)
	if err != nil {
		return nil, err
	}
	return c.came(m), nil
}

// came is the requests of a choice.
func (c *Control) came(m match) Requests {
	doc := Requests{Requests: []Request{}, Counts: make(map[string]int), Forgotten: c.record.Forgotten()}
	for _, rec := range c.record.Requests() {
		if !m.has(rec) {
			continue
		}
		doc.Requests = append(doc.Requests, Request{
			At: rec.Time.UTC(), Member: rec.Member, Session: name(rec.Session), Op: rec.Op, Paths: append([]string{}, rec.Paths...),
			Result: rec.Result, Lost: rec.Lost,
		})
		doc.Counts[rec.Op]++
	}
	return doc
}

// wait waits until requests have come.
func (c *Control) wait(r *request) (any, error) {
	m, err := readMatch(r.params)
	if err != nil {
		return nil, err
	}
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	limit, err := r.duration("timeout", 10*time.Second)
	if err != nil {
		return nil, err
	}
	arrived, err := r.yes("arrived")
	if err != nil {
		return nil, err
	}
	await := c.record.Await
	if arrived {
		await = c.record.AwaitArrival
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	found := 0
	_, err = await(ctx, func(rec zktest.Record) bool {
		if m.has(rec) {
			found++
		}
		return found == n
	})
	switch {
	case err == nil:
		return c.came(m), nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refusef(http.StatusGatewayTimeout, "%d of %d such requests have come within %v%s", found, n, limit, c.last())
	}
	return nil, err
}

// last returns the last requests of all in words, to be added to a sentence.
func (c *Control) last() string {
	all := c.record.Requests()
	if len(all) == 0 {
		return "; there was no request at all"
	}
	var texts []string
	for _, rec := range all[max(0, len(all)-5):] {
		texts = append(texts, rec.String())
	}
	return fmt.Sprintf("; the last ones of all: %s", strings.Join(texts, ", "))
}

// losses are the requests that are to be lost, and those whose replies are. The zero value
// is none.
type losses struct {
	mu  sync.Mutex
	all []*loss // guarded by mu
}

type loss struct {
	match
	reply bool
	left  int
}

// request reports whether a request is to be lost.
func (l *losses) request(q zktest.Request) bool { return l.take(q, false) }

// reply reports whether the reply of a request is to be lost.
func (l *losses) reply(q zktest.Request) bool { return l.take(q, true) }

func (l *losses) take(q zktest.Request, reply bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.all {
		if q.Op != "ping" && one.reply == reply && one.fits(q) {
			if one.left--; one.left == 0 {
				l.all = slices.Delete(l.all, i, i+1)
			}
			return true
		}
	}
	return false
}

// add makes n requests of a choice be lost, or their replies.
func (l *losses) add(m match, reply bool, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, &loss{match: m, reply: reply, left: n})
}

// left returns how many requests and replies are still to be lost.
func (l *losses) left() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.all {
		n += one.left
	}
	return n
}

// end ends all losses.
func (l *losses) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

// list returns the losses to come as the requests that made them.
func (l *losses) list() (list []Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.all {
		f := Fault{Fault: "drop", What: "request", Op: one.op, Path: one.path, Below: one.below, Count: one.left}
		if one.reply {
			f.What = "reply"
		}
		if one.session != 0 {
			f.Session = name(one.session)
		}
		list = append(list, f)
	}
	return list
}
