package conn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Each step of the handshake is bounded. The client's own bounds are 6.67 T for the
// first half, and none for the second.
func TestStuckHandshake(t *testing.T) {
	answer := wire.AppendFrame(nil, wire.ConnectResponse{SessionID: 7, Timeout: 12_000, Password: make([]byte, 16)}.Append(nil))
	for name, hello := range map[string][]byte{
		"Silent":         {},
		"FourBytes":      answer[:4],
		"OneByteShort":   answer[:len(answer)-1],
		"HalfAnAuth":     append(bytes.Clone(answer), frame(header(wire.XidAuth, 0))[:10]...),
		"NoAuth":         answer,
		"Malformed":      frame(i32(0), i32(1)),
		"TimeoutOfZero":  wire.AppendFrame(nil, wire.ConnectResponse{SessionID: 7}.Append(nil)),
		"ShortAuth":      append(bytes.Clone(answer), frame(i32(-4))...),
		"NegativeLength": i32(-3),
	} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			f.hello = hello
			cfg := f.config()
			cfg.Auth = []Auth{{"digest", []byte("me:secret")}}
			ctx, cancel := context.WithTimeout(t.Context(), T)
			defer cancel()
			start := time.Now()
			c, err := Dial(ctx, cfg)
			if err == nil {
				f.end(c)
				t.Fatal("no error")
			}
			var de *DialError
			if !errors.As(err, &de) || !errors.Is(err, context.DeadlineExceeded) || de.Servers[0].Err == nil {
				t.Errorf("error %v", err)
			}
			// The client's own Close may wait for a second.
			if took := time.Since(start); took > T+time.Second {
				t.Errorf("Dial took %v, ctx %v", took, T)
			}
			f.cut()
			f.wg.Wait()
			limit := T / 3 // and then longer, as no hold can be lost
			for i, p := range f.peers {
				if stood := p.ended.Sub(p.started); stood > limit {
					t.Errorf("connection %d stood for %v, limit %v", i, stood, limit)
				}
				limit = T
			}
		})
		inBubble(t, name+"/Again", func(t *testing.T) {
			f := newFake(T)
			cfg := f.config()
			cfg.Auth = []Auth{{"digest", []byte("me:secret")}}
			c, err := Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			f.do(func() { f.hello = hello })
			f.cut()
			time.Sleep(T)
			f.do(func() { f.hello = nil })
			if st, err := c.Await(t.Context()); err != nil || st.Session != 1 {
				t.Errorf("%+v, %v", st, err)
			}
			f.end(c)
			limit := T / 12 // a hold loses little of its T/2
			for i, p := range f.peers[1 : len(f.peers)-1] {
				if stood := p.ended.Sub(p.started); stood > limit {
					t.Errorf("connection %d stood for %v, limit %v", i, stood, limit)
				}
				limit = T / 3
			}
		})
	}
}

// Credentials are sent in each handshake. If they are refused, Dial fails at once. A Conn
// that has had a session tries again, as another server may accept them.
func TestAuth(t *testing.T) {
	refuse := func(_ *peer, h wire.RequestHeader) (a act) {
		if h.Op == wire.OpAuth {
			a.code = wire.CodeAuthFailed
		}
		return a
	}
	inBubble(t, "Refused", func(t *testing.T) {
		f := newFake(T)
		f.script = refuse
		cfg := f.config()
		cfg.Auth = []Auth{{"digest", []byte("me:wrong")}}
		start := time.Now()
		c, err := Dial(t.Context(), cfg)
		if !errors.Is(err, zk.ErrAuthFailed) || c != nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err != nil && strings.Contains(err.Error(), "wrong") {
			t.Errorf("the error contains the password: %v", err)
		}
		f.cut()
		f.wg.Wait()
	})
	inBubble(t, "RefusedLater", func(t *testing.T) {
		f := newFake(T)
		cfg := f.config()
		cfg.Auth = []Auth{{"digest", []byte("me:secret")}, {"x", []byte("y")}}
		c, err := Dial(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := f.countOf(wire.OpAuth); n != 2 {
			t.Errorf("%d credentials sent, want 2", n)
		}
		f.do(func() { f.script = refuse })
		f.cut()
		time.Sleep(T / 4)
		n := f.dials()
		f.do(func() { f.script = nil })
		if st, err := c.Await(t.Context()); err != nil || st.Session != 1 {
			t.Errorf("%+v, %v", st, err)
		}
		if n < 5 || n > 14 {
			t.Errorf("%d dials while refused", n)
		}
		f.end(c)
	})
}

func TestDialError(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		cfg := f.config()
		cfg.Servers = []string{"refuses:1", "silent:2", "slow:3"}
		f.script = allMute
		dial := cfg.Dial
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			switch addr {
			case "refuses:1":
				return nil, errRefused
			case "slow:3":
				time.Sleep(T)
			}
			return dial(ctx, network, addr)
		}
		cause := errors.New("patience is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), T-1, cause)
		defer cancel()
		_, err := Dial(ctx, cfg)
		var de *DialError
		if !errors.As(err, &de) || !errors.Is(err, cause) {
			t.Fatalf("error %v", err)
		}
		for _, want := range []string{"no session with any server: patience is over", "; refuses:1: ", "; silent:2: ", "; slow:3: "} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q in it", err, want)
			}
		}
		time.Sleep(T)
		f.cut()
		f.wg.Wait()
	})
	inBubble(t, "Done", func(t *testing.T) {
		f := newFake(T)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errRefused)
		if _, err := Dial(ctx, f.config()); !errors.Is(err, errRefused) || f.dials() != 0 {
			t.Errorf("%d dials, %v", f.dials(), err)
		}
	})
	err := &DialError{Servers: []ServerError{{Server: "a:1"}, {Server: "b:2", Err: errRefused}}, Err: context.Canceled}
	if got, want := err.Error(), "no session with any server: context canceled; a:1: no answer yet; b:2: refused by the test"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errRefused) {
		t.Error("Unwrap")
	}
	err.Servers = []ServerError{{Server: "a:1", Err: io.EOF}}
	if got, want := err.Error(), "no session with any server: context canceled; a:1: it closes the connection, as a server without a quorum does: EOF"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
