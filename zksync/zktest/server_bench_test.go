package zktest_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

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

// What a test pays for a server, a client's session on it and a first answer.
func BenchmarkServerFirstAnswer(b *testing.B) {
	used := processorTime()
	for b.Loop() {
		s := zktest.New()
		c := open(b, s)
		c.ok(wire.OpExists, "/", false)
		c.nc.Close()
		s.Close()
	}
	b.ReportMetric(float64(processorTime()-used)/float64(b.N), "cpu-ns/op")
}

// What it costs to end 8,000 sessions, one after the other. Each has a node and an open
// connection.
func BenchmarkServerExpire(b *testing.B) {
	const sessions = 8_000
	var used time.Duration
	for range b.N {
		b.StopTimer()
		s := zktest.New(zktest.WithSessionLimits(time.Hour, time.Hour)) // none ends by itself
		ids := make([]int64, sessions)
		for i := range ids {
			c := open(b, s)
			c.create(fmt.Sprint("/n", i), eph)
			ids[i] = c.hi.SessionID
		}
		used -= processorTime()
		b.StartTimer()
		for _, id := range ids {
			s.Expire(id)
		}
		b.StopTimer()
		used += processorTime()
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
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

// What clients get done without a network, on one processor with "-cpu 1". Their own
// work is a small part of it. In cpu-ns/req is the time on processors, which tells more
// than that on the clock where the machine has other work.
func BenchmarkServerPipe(b *testing.B) {
	for _, bench := range []struct {
		name           string
		clients, ahead int // ahead: requests that a client sends before it reads answers
		frames         func(path string) [][]byte
	}{
		{"exists/clients=1", 1, 1, existsFrames},
		{"exists/clients=8", 8, 1, existsFrames},
		{"exists/ahead=32", 1, 32, existsFrames},
		{"create+delete/clients=1", 1, 1, createDeleteFrames},
		{"create+delete/clients=8", 8, 1, createDeleteFrames},
		{"create+delete/ahead=32", 1, 32, createDeleteFrames},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := zktest.Run(b)
			conns := make([]*rawConn, bench.clients)
			for i := range conns {
				conns[i] = open(b, s)
			}
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			used := processorTime()
			for i, c := range conns {
				requests := (b.N + i) / bench.clients // together b.N
				wg.Go(func() { c.stream(bench.frames("/n"+string(rune('a'+i))), requests, bench.ahead) })
			}
			wg.Wait()
			used = processorTime() - used
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/req")
			if n := total(s.Requests()); n != b.N {
				b.Errorf("%d requests came, want %d", n, b.N)
			}
		})
	}
}

func existsFrames(string) [][]byte { return [][]byte{request(wire.OpExists, "/", false)} }

func createDeleteFrames(path string) [][]byte {
	return [][]byte{request(wire.OpCreate, crt(path, eph)...), request(wire.OpDelete, path, -1)}
}

// request returns the frame of a request.
func request(op wire.Op, parts ...any) []byte {
	return wire.AppendFrame(nil, append(wire.RequestHeader{Xid: 1, Op: op}.Append(nil), body(parts...)...))
}

// stream sends requests, the frames in turn, and checks that all are carried out. It
// sends up to ahead of them, and then reads the answers.
func (c *rawConn) stream(frames [][]byte, requests, ahead int) {
	r, out, in := bufio.NewReader(c.nc), []byte(nil), []byte(nil)
	for sent := 0; sent < requests; {
		n := min(ahead, requests-sent)
		out = out[:0]
		for i := range n {
			out = append(out, frames[(sent+i)%len(frames)]...)
		}
		c.write(out)
		for range n {
			var err error
			if in, err = wire.ReadFrame(r, in, 1<<20); err != nil {
				c.t.Error(err)
				return
			}
			if h, _, err := wire.ParseReplyHeader(in[wire.FrameHeader:]); err != nil || h.Err != wire.CodeOK {
				c.t.Error(h, err)
				return
			}
		}
		sent += n
	}
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
