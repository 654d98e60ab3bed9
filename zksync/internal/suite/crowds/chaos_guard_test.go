//go:build unix

package crowds_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// ledger is a counter that a lock guards, and that guards itself: it takes no
// fence smaller than the largest it has seen. It lives in the test's process,
// which is never stopped. Clients send lines; each gets one line back:
//
//	read PROCESS FENCE SESSION    ok VALUE BLIND, late, or stop
//	write FENCE VALUE BLIND       ok, or late
type ledger struct {
	ln net.Listener
	wg sync.WaitGroup
	// onRead is called before a read is answered, while its hold waits.
	onRead func(process int)

	mu        sync.Mutex
	largest   int64         // guarded by mu, as the rest
	value     int           // the counter
	blind     int           // the same without fences: what would have become of it
	writes    int           // taken
	lateReads int           // refused
	late      int           // writes refused
	lost      int           // updates that overwrote another one
	sessions  map[int]int64 // of the processes, as last heard
	reader    int64         // the last session that has read
	over      bool
}

func newLedger(t *testing.T, onRead func(process int)) *ledger {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	suite.Must(t, err)
	g := &ledger{ln: ln, onRead: onRead, sessions: make(map[int]int64)}
	g.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			g.wg.Go(func() { g.serve(c) })
		}
	})
	return g
}

// close waits for the clients to have gone.
func (g *ledger) close() {
	g.ln.Close()
	g.wg.Wait()
}

func (g *ledger) serve(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		fmt.Fprintln(c, g.answer(lines.Text()))
	}
}

func (g *ledger) answer(line string) string {
	var (
		process, value, blind int
		fence, session        int64
	)
	if n, _ := fmt.Sscanf(line, "read %d %d %d", &process, &fence, &session); n == 3 {
		g.onRead(process)
		return g.read(process, fence, session)
	}
	if n, _ := fmt.Sscanf(line, "write %d %d %d", &fence, &value, &blind); n == 3 {
		return g.write(fence, value, blind)
	}
	return "what?"
}

func (g *ledger) read(process int, fence, session int64) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[process], g.reader = session, session
	switch {
	case g.over:
		return "stop"
	case fence < g.largest:
		g.lateReads++
		return "late"
	}
	g.largest = fence
	return fmt.Sprint("ok ", g.value, " ", g.blind)
}

func (g *ledger) write(fence int64, value, blind int) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blind = blind
	if fence < g.largest {
		g.late++
		return "late"
	}
	g.largest = fence
	g.writes++
	if value != g.value+1 {
		g.lost++
	}
	g.value = value
	return "ok"
}

// taken is the number of writes that were taken.
func (g *ledger) taken() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writes
}

// session is that of the last to read, who may still hold, or of any process.
func (g *ledger) session() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if rand.N(2) == 0 {
		return g.reader
	}
	for _, id := range g.sessions { // in random order
		return id
	}
	return 0
}

// stop has the clients end.
func (g *ledger) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}
