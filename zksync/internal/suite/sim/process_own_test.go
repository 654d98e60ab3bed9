package sim

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// newerWorld is what the newer kinds of program add to a world.
type newerWorld struct {
	makers    sync.Map       // of nodes whose data does not say: the name of the process
	kazooTwin sync.Map       // of held nodes: the one for the eyes of kazoo
	hooking   sync.WaitGroup // Closes by a tracer
	hung      string         // where the goroutines are that hang

	// Guarded by mu.
	procs map[string]*process

	spells  map[string][]*spell  // of each path, the oldest first
	hooked  hookTimes            // of all tracers
	gaveUp  map[string]time.Time // of a process and path: when the last wait ended
	failed  map[string]time.Time // of an owner: when its last wait ended without the lock
	stirs   int                  // faults that last
	stirred time.Time            // the last change of these, or end of a process
}

// runs runs the plan in a bubble. A Close that hangs, or a goroutine that does not
// end, fails the program alone: the bubble's panic says so.
func (w *world) runs(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			if !strings.Contains(fmt.Sprint(p), "deadlock") {
				panic(p)
			}
			buf := make([]byte, 1<<20)
			w.hung = string(buf[:runtime.Stack(buf, true)])
			w.trace = append(w.trace, w.hung)
			w.bad = append(w.bad, fmt.Sprintf("hung: %v", p))
		}
	}()
	bubble.Test(t, func(*testing.T) { w.run() })
}

// stir notes that a fault begins (1) or ends (-1), or that a process does (0).
func (w *world) stir(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stirs += change
	w.stirred = time.Now()
}

// quietLocked reports whether there has been no fault for so long that none is
// felt any more.
func (w *world) quietLocked() bool {
	return w.stirs == 0 && (w.stirred.IsZero() || time.Since(w.stirred) > 2*w.slowest())
}

// closeLimit is how long Close may take.
const closeLimit = 5 * time.Second

// close closes the process's session, and looks at what has come of it.
func (p *process) close() error {
	w := p.w
	begin := time.Now()
	err := p.s.Load().Close()
	if took := time.Since(begin); took > closeLimit+100*time.Millisecond+4*p.slow {
		w.wrong("close: of %s took %v", p.name, took)
	}
	for _, node := range w.nodesOf(p) {
		switch text := fmt.Sprint(err); {
		case err == nil:
			w.wrong("close: of %s says that nothing is left, and %s is there", p.name, node)
		case !strings.Contains(text, node[:strings.LastIndexByte(node, '/')]):
			w.wrong("close: of %s does not name %s: %v", p.name, node, err)
		}
	}
	p.clean.Store(err == nil)
	return err
}

// nodesOf returns the lock nodes that a process has made. Those of a client that has
// locked up and was replaced go with its session, which counts as over from then on.
func (w *world) nodesOf(p *process) (nodes []string) {
	session := p.session()
	for _, path := range w.paths {
		for _, name := range w.srv.Children(path) {
			n := standing{node: path + "/" + name}
			var ok bool
			var stat zktest.Stat
			if n.data, stat, ok = w.srv.Get(n.node); ok && p.made(n) &&
				(w.story != "hung client" || stat.EphemeralOwner == session) {
				nodes = append(nodes, n.node)
			}
		}
	}
	return nodes
}

// checkClosed looks for nodes that come up after a Close which had nothing left.
func (w *world) checkClosed() {
	w.mu.Lock()
	var closed []*process
	for _, p := range w.procs {
		if p.clean.Load() {
			closed = append(closed, p)
		}
	}
	w.mu.Unlock()
	for _, p := range closed {
		if nodes := w.nodesOf(p); len(nodes) > 0 && p.clean.Swap(false) {
			w.wrong("close: of %s said that nothing was left, and now there is %v", p.name, nodes)
		}
	}
}

// outlive ends the clients that have outlived their sessions, once nothing of
// these is left, and waits for tracers that close theirs.
func (w *world) outlive() {
	var clients []*zk.Conn
	w.mu.Lock()
	for _, p := range w.procs {
		if p.client != nil {
			clients = append(clients, p.client)
		}
	}
	w.mu.Unlock()
	if len(clients) > 0 {
		w.settle()
	}
	for _, c := range clients {
		c.Close()
	}
	closed := make(chan struct{})
	go func() { w.hooking.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(2 * closeLimit):
		w.wrong("close: a Close by a tracer has not returned")
	}
	if w.kind != "" {
		time.Sleep(closeLimit) // for what nobody waits for: functions of tracers, and who sees that a client is closed
	}
}
