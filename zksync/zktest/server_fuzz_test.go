package zktest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// FuzzServerInput has a server read anything. It goes on serving others, and
// the connection ends when its client does.
func FuzzServerInput(f *testing.F) {
	hello := wire.AppendFrame(nil, wire.ConnectRequest{Timeout: 5000}.Append(nil))
	f.Add([]byte("ruok"))
	f.Add(hello[:20])
	for _, cv := range conversations {
		in := bytes.Clone(hello)
		for i, s := range cv.steps {
			payload := append(wire.RequestHeader{Xid: int32(i), Op: s.op}.Append(nil), body(s.parts...)...)
			in = wire.AppendFrame(in, payload)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := zktest.Run(t)
		other := open(t, s)
		nc, err := s.Dial("tcp", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(10 * time.Second))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := io.Copy(io.Discard, nc); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("neither an answer nor an end")
			}
		})
		_, _ = nc.Write(in)
		other.ping()
		other.do(wire.OpGetChildren, "/", false)
		nc.Close()
		wg.Wait()
		s.Close() // what was read before the end may still be carried out
		whole(t, s, "/")
	})
}

// whole checks that a node and what is below it fit together.
func whole(t *testing.T, s *zktest.Server, path string) {
	_, st, ok := s.Get(path)
	names := s.Children(path)
	if !ok || int(st.NumChildren) != len(names) {
		t.Errorf("%s: there %v, %d children, names %q", path, ok, st.NumChildren, names)
	}
	for _, name := range names {
		whole(t, s, strings.TrimSuffix(path, "/")+"/"+name)
	}
}

func BenchmarkServerStart(b *testing.B) {
	for b.Loop() {
		s := zktest.New()
		s.Addr()
		s.Close()
	}
}

func BenchmarkServer(b *testing.B) {
	for _, kind := range []string{"exists", "create+delete"} {
		b.Run(kind, func(b *testing.B) {
			s := zktest.Run(b)
			work := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 8 {
				c := rawDial(b, net.DialTimeout, s.Addr())
				if !c.hello(wire.ConnectRequest{Timeout: 10_000}) {
					b.Fatal("no session")
				}
				path := "/n" + string(rune('a'+i))
				wg.Go(func() {
					for range work {
						if kind == "exists" {
							c.do(wire.OpExists, "/", false)
							continue
						}
						c.do(wire.OpCreate, crt(path, eph)...)
						c.do(wire.OpDelete, path, -1)
					}
				})
			}
			b.ResetTimer()
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
		})
	}
}
