package zktest_test

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// What a test pays for a server of its own: without a port, as in a bubble, and
// with one.
func BenchmarkServerStart(b *testing.B) {
	for _, port := range []bool{false, true} {
		b.Run(fmt.Sprint("port=", port), func(b *testing.B) {
			for b.Loop() {
				s := zktest.New()
				if port {
					s.Addr()
				}
				s.Close()
			}
		})
	}
}

// What eight clients get done over TCP, each one request after the other.
func BenchmarkServer(b *testing.B) {
	for _, bench := range []struct {
		name     string
		requests int // that one round of a client takes
		round    func(c *rawConn, path string)
	}{
		{"exists", 1, func(c *rawConn, _ string) { c.do(wire.OpExists, "/", false) }},
		{"create+delete", 2, func(c *rawConn, path string) {
			c.do(wire.OpCreate, crt(path, eph)...)
			c.do(wire.OpDelete, path, -1)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			const clients = 8
			s := zktest.Run(b)
			conns := make([]*rawConn, clients)
			for i := range conns {
				conns[i] = rawDial(b, net.DialTimeout, s.Addr())
				if !conns[i].hello(wire.ConnectRequest{Timeout: 10_000}) {
					b.Fatal("no session")
				}
			}
			var wg sync.WaitGroup
			b.ResetTimer()
			for i, c := range conns {
				rounds := (b.N + i) / clients // together b.N
				wg.Go(func() {
					for range rounds {
						bench.round(c, "/n"+string(rune('a'+i)))
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(bench.requests*b.N)/b.Elapsed().Seconds(), "req/s")
			if n := total(s.Requests()); n != bench.requests*b.N {
				b.Errorf("%d requests came, want %d", n, bench.requests*b.N)
			}
		})
	}
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
