package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// slot is a place where one process runs at a time.
type slot struct {
	mu   sync.Mutex
	proc *process // guarded by mu
}

func (s *slot) now() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// process is a program with its session.
type process struct {
	w       *world
	name    string
	slot    int
	s       atomic.Pointer[zksync.Session]
	members [2]*zktest.Member
	dead    atomic.Bool // crashed: what it thinks counts no more
	closing atomic.Bool
	murky   int                           // guarded by w.mu: faults under which news may take any time
	clear   time.Time                     // guarded by w.mu: when the last of these was over
	hang    atomic.Pointer[chan struct{}] // what the next dial waits for
	client  *zk.Conn                      // of its own, which lives on after Close
	clean   atomic.Bool                   // Close has said that nothing is left
	slow    time.Duration                 // how long each function of its tracer takes
	hooked  hookTimes                     // for those who call without a context
	owner   zksync.Owner                  // that goroutines share who stand for an election
}

// launch makes a process; its session is made in the slot.
func (w *world) launch(slot, n int) *process {
	p := &process{w: w, slot: slot, name: fmt.Sprintf("p%d.%d", slot, n), owner: zksync.NewOwner("")}
	for i := range p.members {
		p.members[i] = w.srv.AddMember()
		p.members[i].Jitter(w.latency)
	}
	w.mu.Lock()
	w.procs[p.name] = p
	w.mu.Unlock()
	return p
}

// session is the one that the process has; 0: none.
func (p *process) session() int64 {
	if s := p.s.Load(); s != nil {
		return s.ID()
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.client != nil {
		return p.client.SessionID()
	}
	return 0
}

// inhabit runs the processes of a slot, one after the other.
func (w *world) inhabit(i int, s *slot) {
	for n, l := range w.plan.slots[i] {
		p := s.now()
		if n > 0 {
			p = w.launch(i, n)
			s.mu.Lock()
			s.proc = p
			s.mu.Unlock()
		}
		p.live(l)
	}
}

func (p *process) dial(network, addr string, d time.Duration) (net.Conn, error) {
	if until := p.hang.Swap(nil); until != nil {
		<-*until
	}
	i := 0
	if strings.HasPrefix(addr, "10.0.0.2") {
		i = 1
	}
	return p.members[i].Dial(network, addr, d)
}

// live is the whole life of a process. What it leaves running after a crash is
// waited for too.
func (p *process) live(l life) {
	w := p.w
	if l.kazoo {
		p.speakKazoo(l)
		return
	}
	s, err := p.open(l)
	if err != nil {
		w.wrong("%s: dial: %v", p.name, err)
		return
	}
	p.s.Store(s)
	w.log("%s begins: session %#x", p.name, s.ID())
	var wg sync.WaitGroup
	for g, ops := range l.programs {
		wg.Go(func() { newWorker(p, fmt.Sprintf("%s/%d", p.name, g)).run(ops) })
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	defer func() { <-ended }()
	if l.end == "" {
		return
	}
	select {
	case <-ended:
	case <-time.After(l.at):
	}
	p.end(l.end)
}

// open begins the process's session.
func (p *process) open(l life) (*zksync.Session, error) {
	opts := []zksync.Option{
		zksync.WithIdentity(p.name), zksync.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		zksync.WithLockDefaults(zksync.WithHandoff(p.w.handoff)), zksync.WithTracer(p.tracer(l)),
	}
	if l.own {
		client := p.connect()
		p.w.mu.Lock()
		p.client = client
		p.w.mu.Unlock()
		return zksync.NewSession(client, p.w.slowest(), opts...)
	}
	all := []zksync.DialOption{suite.WithDialer(p.dial), zksync.WithSessionTimeout(timeout)}
	for _, o := range opts {
		all = append(all, o)
	}
	return zksync.Dial(p.w.bg, []string{"10.0.0.1", "10.0.0.2"}, all...)
}

func (p *process) end(how string) {
	w := p.w
	w.log("%s: %s", p.name, how)
	w.stir(0)
	defer w.stir(0)
	switch how {
	case "crash":
		// For the others it has vanished; here its goroutines have to end.
		p.vanish()
		_ = p.s.Load().Close()
		return
	case "shutdown":
		ctx, cancel := context.WithTimeout(w.bg, timeout)
		p.closing.Store(true)
		err := p.s.Load().Shutdown(ctx)
		cancel()
		if err != nil {
			w.log("%s: %v", p.name, err)
		}
	}
	p.closing.Store(true)
	if err := p.close(); err != nil {
		w.log("%s: %v", p.name, err)
	}
	w.log("%s is closed", p.name)
}

// vanish is a crash: for the others the process is not there any more.
func (p *process) vanish() {
	w := p.w
	w.mu.Lock()
	p.dead.Store(true)
	w.crash = time.Now()
	p.closing.Store(true)
	for _, cs := range w.active {
		for _, c := range slices.Clone(cs) {
			if c.p == p {
				w.endLocked(c)
			}
		}
	}
	w.mu.Unlock()
	for _, m := range p.members {
		m.Refuse()
		m.Blackhole()
	}
}
