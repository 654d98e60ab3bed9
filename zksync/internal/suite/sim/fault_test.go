package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// inflict does one fault, and takes it back.
func (w *world) inflict(f fault) {
	time.Sleep(f.at)
	if f.kind == "none" {
		return
	}
	p := w.slots[f.slot].now()
	path := w.paths[f.path]
	some := p.members[:] // one, or both
	if f.n%3 > 0 {
		some = p.members[f.n%3-1 : f.n%3]
	}
	w.log("fault %v to %s", f, p.name)
	w.stir(1)
	defer w.stir(-1)
	if slices.Contains(blurs, f.kind) {
		w.mu.Lock()
		p.murky++
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			p.murky--
			p.clear = time.Now()
		}()
	}
	during := func(begin, end func(*zktest.Member)) {
		for _, m := range some {
			begin(m)
		}
		time.Sleep(f.lasts)
		if !p.dead.Load() {
			for _, m := range some {
				end(m)
			}
		}
		w.log("no more: %v", f)
	}
	heal := func(m *zktest.Member) {
		m.Heal()
		m.Jitter(w.latency)
	}
	switch f.kind {
	case "expire":
		w.take(p.name)
		if id := p.session(); id != 0 {
			w.srv.Expire(id)
		}
	case "disconnect":
		for _, m := range some {
			m.DisconnectAll()
		}
	case "deaf":
		during(func(m *zktest.Member) { m.Blackhole(zktest.ToServer) }, heal)
	case "mute":
		during(func(m *zktest.Member) { m.Blackhole(zktest.ToClient) }, heal)
	case "blackhole":
		some = p.members[:]
		during(func(m *zktest.Member) { m.Blackhole() }, heal)
	case "away":
		during(func(m *zktest.Member) { m.Refuse(); m.DisconnectAll() }, heal)
	case "hang":
		// A proxy that keeps one dial waiting for longer than was asked for.
		until := make(chan struct{})
		p.hang.Store(&until)
		time.Sleep(f.lasts)
		p.hang.CompareAndSwap(&until, nil)
		close(until)
	case "lose":
		w.lose(p, []string{"create", "delete", "multi", "create"}[f.n%4])
	case "lost touch":
		// The words that somebody has got in never reach the server.
		for _, m := range p.members {
			done := false
			m.DropRequest(func(r zktest.Request) bool {
				hit := !done && r.Op == "setData"
				done = done || hit
				return hit
			})
		}
	case "lagged loss":
		// The answer to a create, or to the transaction of a Multi, is lost, and the
		// other members lag.
		for _, m := range p.members {
			m.LagUntilSync()
		}
		w.lose(p, []string{"create", "create", "multi", "create"}[f.n%4])
		time.Sleep(f.lasts)
		for _, m := range p.members {
			m.CatchUp()
		}
	case "delay":
		during(func(m *zktest.Member) { m.Delay(time.Duration(f.n%300) * time.Millisecond) }, heal)
	case "lag":
		during(func(m *zktest.Member) { m.LagUntilSync() }, func(m *zktest.Member) { m.CatchUp() })
	case "cut":
		// The members of a process that has crashed rejoin, too: they count for the majority.
		for _, m := range some {
			m.CutFromLeader()
		}
		time.Sleep(f.lasts)
		for _, m := range some {
			m.RejoinLeader()
		}
		w.log("no more: %v", f)
	case "restart", "renew":
		if f.kind == "renew" {
			for _, s := range w.slots {
				w.take(s.now().name)
			}
		}
		if f.kind == "restart" {
			w.srv.Restart()
		} else {
			w.srv.RestartExpired()
		}
	case "break":
		w.breakSome(path, f.n)
	case "sequence":
		w.mu.Lock()
		w.spent[path] = true
		w.mu.Unlock()
		_ = w.srv.SetSequence(path, math.MaxInt32-int32(f.n%5)) // there may be no such path
	case "remake":
		// The path goes once it is empty, and somebody makes it anew, and so many
		// nodes in it that it counts up to shortly before where it was.
		for range 200 {
			if w.remake(path, f.n) {
				return
			}
			time.Sleep(f.lasts / 200)
		}
	case "replace":
		// Somebody deletes the path with all that is in it, and makes it anew as above.
		w.breakSome(path, 1)
		w.remake(path, 1)
	case "reap":
		// The path goes as soon as it is empty, as containers do.
		for range 200 {
			if len(w.srv.Children(path)) == 0 && w.admin.Conn().Delete(path, -1) == nil {
				w.log("%s is gone", path)
				return
			}
			time.Sleep(f.lasts / 200)
		}
	}
}

// lose has the answer to the next request of a kind lost.
func (w *world) lose(p *process, kind string) {
	for _, m := range p.members {
		done := false
		m.DropReply(func(r zktest.Request) bool {
			hit := !done && r.Op == kind
			done = done || hit
			return hit
		})
	}
}

// breakSome deletes lock nodes by hand: one, or all.
func (w *world) breakSome(path string, n int) {
	names := w.srv.Children(path)
	rand.New(rand.NewPCG(uint64(n), 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if n%2 == 0 {
		names = names[:min(1, len(names))]
	}
	w.take(path)
	defer w.take(path)
	for _, name := range names {
		node := path + "/" + name
		w.mu.Lock()
		w.broken[node] = time.Now()
		w.mu.Unlock()
		_ = w.admin.Conn().Delete(node, -1)
		w.log("%s deleted by hand", node)
	}
}

// take notes that locks were taken away, from a process or on a path.
func (w *world) take(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[what] = time.Now()
	w.takes[what]++
}

// remake deletes a path that is empty, makes it anew, and has it count up to n before the
// number that was due. It reports whether it did.
func (w *world) remake(path string, n int) bool {
	_, st, err := w.admin.Conn().Get(path)
	if err != nil || st.NumChildren > 0 || st.Cversion < int32(2*n) || w.admin.Conn().Delete(path, -1) != nil {
		return false
	}
	_, err = w.admin.Conn().Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	if err == nil {
		err = w.srv.SetSequence(path, st.Cversion/2-int32(n))
	}
	w.log("%s is made anew, to count from %d: %v", path, st.Cversion/2-int32(n), err)
	return true
}
