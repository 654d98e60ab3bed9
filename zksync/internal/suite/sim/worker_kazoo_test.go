package sim

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// speakKazoo is the life of a process that takes locks as kazoo does: it looks at
// nodes named "__lock__" and at no others. It does not learn of a loss.
func (p *process) speakKazoo(l life) {
	w := p.w
	client := p.connect()
	w.mu.Lock()
	p.client = client
	w.mu.Unlock()
	w.log("%s begins: kazoo, session %#x", p.name, client.SessionID())
	var wg sync.WaitGroup
	for g, ops := range l.programs {
		wg.Go(func() {
			k := newWorker(p, fmt.Sprintf("%s/%d", p.name, g))
			for n, o := range ops {
				if p.closing.Load() {
					return
				}
				w.log("%s: %v", k.name, o)
				if o.kind == "sleep" {
					time.Sleep(o.work)
					continue
				}
				k.kazoo(o, fmt.Sprintf("%016x%016x", client.SessionID(), g<<32|n))
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	if l.end != "" {
		select {
		case <-ended:
		case <-time.After(l.at):
		}
		w.log("%s: ends", p.name)
		w.stir(0)
		p.vanish()
		client.Close()
	}
	<-ended
}

// kazoo takes a lock as kazoo does, works, and gives it back.
func (k *worker) kazoo(o op, guid string) {
	w := k.p.w
	dir := w.paths[o.path]
	x := want{p: k.p, seats: []seat{{path: dir, mode: asMutex}}}
	w.mu.Lock()
	w.waits[&x] = true
	at := w.nextLocked()
	w.mu.Unlock()
	q := &kazooLock{k: k, dir: dir, prefix: guid + "__lock__", until: time.Now().Add(max(o.wait, timeout/4))}
	ok := q.acquire()
	w.mu.Lock()
	delete(w.waits, &x)
	w.mu.Unlock()
	if ok {
		x.node = path.Join(dir, q.node)
		c := w.granted(k, x, nil, nil, at, nil)
		time.Sleep(o.work)
		w.mu.Lock()
		w.endLocked(c)
		w.mu.Unlock()
		w.log("%s gives %s back", k.name, dir)
		w.cutOne(c)
	}
	q.remove()
}

// kazooLock is one try of kazoo's to get a lock.
type kazooLock struct {
	k      *worker
	dir    string
	prefix string
	until  time.Time
	tries  int
	node   string // its name; "": not known
	made   bool   // there may be one
}

func (q *kazooLock) over() bool { return q.k.p.closing.Load() || !time.Now().Before(q.until) }

// acquire waits until no "__lock__" node stands before its own.
func (q *kazooLock) acquire() bool {
	zc := q.k.p.client
	for !q.over() {
		names, ok := q.stand()
		if !ok {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		found, before := false, ""
		for _, name := range names {
			found = found || name == q.node
			if i := strings.LastIndex(name, "__lock__"); i >= 0 && number(name) < number(q.node) &&
				(before == "" || number(name) > number(before)) {
				before = name
			}
		}
		switch {
		case !found: // deleted by somebody, or with its session
			q.node, q.made = "", false
			continue
		case before == "":
			return true
		}
		_, _, event, err := zc.GetW(path.Join(q.dir, before))
		if err != nil {
			continue
		}
		select {
		case <-event:
		case <-time.After(time.Until(q.until)):
		case <-time.After(timeout / 3): // what kazoo's session listener is for
		}
	}
	return false
}

// stand makes the node if there is none yet, and lists the children.
func (q *kazooLock) stand() (names []string, ok bool) {
	zc := q.k.p.client
	if q.node == "" && !q.find() {
		return nil, false
	}
	if q.node == "" {
		q.tries++
		q.made = true
		data := []byte(`{"kazoo":1,"id":"` + q.k.p.name + `"}`)
		node, err := zc.Create(path.Join(q.dir, strconv.Itoa(q.tries)+q.prefix[1:]), data, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			q.made = false
			for i, r := range q.dir {
				if r == '/' && i > 0 {
					_, _ = zc.Create(q.dir[:i], nil, 0, zk.WorldACL(zk.PermAll))
				}
			}
			_, _ = zc.Create(q.dir, nil, 0, zk.WorldACL(zk.PermAll))
		}
		if err != nil {
			return nil, false
		}
		q.node = path.Base(node)
	}
	names, _, err := zc.Children(q.dir)
	return names, err == nil
}

// find looks for the node that there may be. It reports false if nobody answers.
func (q *kazooLock) find() bool {
	if !q.made {
		return true
	}
	zc := q.k.p.client
	_, err := zc.Sync(q.dir)
	var names []string
	if err == nil {
		names, _, err = zc.Children(q.dir)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false
	}
	q.made = false
	for _, name := range names {
		if strings.HasPrefix(name, strconv.Itoa(q.tries)+q.prefix[1:]) {
			q.node, q.made = name, true
		}
	}
	return true
}

// remove deletes the node, however long that takes.
func (q *kazooLock) remove() {
	zc := q.k.p.client
	for q.made && !q.k.p.closing.Load() {
		if q.node == "" {
			if !q.find() {
				time.Sleep(20 * time.Millisecond)
			}
			continue
		}
		if err := zc.Delete(path.Join(q.dir, q.node), -1); err == nil || errors.Is(err, zk.ErrNoNode) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// number is what a node's name ends in, which kazoo compares as a text.
func number(name string) string { return name[max(len(name)-10, 0):] }

// whole reports whether a node is there, and the one for kazoo that goes with it.
func (w *world) whole(node string) bool {
	twin, has := w.kazooTwin.Load(node)
	return w.exists(node) && (!has || w.exists(twin.(string)))
}

// checkTwinsLocked looks whether kazoo can see what is held beside it.
func (w *world) checkTwinsLocked(c *claim, lines map[string][]standing) {
	if w.kind != "kazoo" || c.p.s.Load() == nil {
		return
	}
	for _, s := range c.seats {
		for _, node := range s.nodes {
			i := strings.LastIndexByte(node, '/')
			n, _ := parseNode(node[i+1:])
			hex := strings.ReplaceAll(strings.TrimPrefix(n.attempt, "_c_"), "-", "")
			at := slices.IndexFunc(lines[s.path], func(o standing) bool { return o.twin && o.attempt == hex })
			switch {
			case at >= 0:
				w.kazooTwin.Store(node, lines[s.path][at].node)
			case w.takenLocked(c.want, w.excuse()):
				w.kazooTwin.Store(node, "/gone") // deleted by hand: it is held by half
			default:
				w.wrongLocked("kazoo: %s holds %s by %s, of which kazoo sees nothing", c.who, s.path, node)
			}
		}
	}
}
