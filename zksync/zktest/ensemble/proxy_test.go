package ensemble_test

import (
	"io"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// proxied is a server with a proxy before it, and a client on either way.
func proxied(t *testing.T) (e *ensemble.Ensemble, p *ensemble.Proxy, conn, direct *zk.Conn) {
	t.Helper()
	e = ensemble.Run(t, 1)
	p = proxy(t, e.Addr(0))
	conn, _ = connect(t, 10*time.Second, p.Addr())
	direct, _ = connect(t, 10*time.Second, e.Addr(0))
	return e, p, conn, direct
}

func TestProxyCounts(t *testing.T) {
	_, p, conn, _ := proxied(t)
	create(t, conn, "/a", 0)
	create(t, conn, "/b", 0)
	_, _, _, err := conn.GetW("/a")
	must(t, err)
	_, err = conn.Set("/a", []byte("x"), -1)
	must(t, err)
	_, err = conn.Multi(&zk.DeleteRequest{Path: "/a", Version: -1}, &zk.DeleteRequest{Path: "/b", Version: -1})
	must(t, err)
	got := p.Requests()
	delete(got, "ping")
	want := map[string]int{"connect": 1, "create": 2, "getData": 1, "setData": 1, "multi": 1}
	if !maps.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	p.ResetRequests()
	exists(t, conn, "/")
	if got := p.Requests()["exists"]; got != 1 {
		t.Errorf("exists after the reset: %d, want 1", got)
	}
}

func TestProxyHook(t *testing.T) {
	_, p, conn, direct := proxied(t)
	// The client may not know yet that its connection was cut.
	answers := func() bool {
		_, _, err := conn.Exists("/")
		return err == nil
	}
	for _, test := range []struct {
		name    string
		reply   bool
		act     ensemble.Action
		wantErr bool
		applied bool
	}{
		{"PassRequest", false, ensemble.Pass, false, true},
		{"DropRequestAndCut", false, ensemble.DropAndDisconnect, true, false},
		{"DropReplyAndCut", true, ensemble.DropAndDisconnect, true, true},
		{"PassReplyAndCut", true, ensemble.PassAndDisconnect, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			eventually(t, "connected", 10*time.Second, answers)
			frames := make(chan ensemble.Frame, 10)
			p.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.Op == "create" && f.FromServer == test.reply {
					f.Payload = nil
					frames <- f
					return test.act
				}
				return ensemble.Pass
			})
			_, err := conn.Create("/"+test.name, nil, 0, worldACL)
			p.SetHook(nil)
			if (err != nil) != test.wantErr {
				t.Errorf("create: %v", err)
			}
			if got := exists(t, direct, "/"+test.name); got != test.applied {
				t.Errorf("applied: %t, want %t", got, test.applied)
			}
			if f := <-frames; f.Code != 1 || f.Xid <= 0 || f.Conn <= 0 || f.Err != 0 || (f.Zxid > 0) != test.reply {
				t.Errorf("frame %+v", f)
			}
		})
	}
	t.Run("Drop", func(t *testing.T) {
		eventually(t, "connected", 10*time.Second, answers)
		dropped := make(chan ensemble.Frame, 1)
		p.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer && f.Op == "notify" {
				f.Payload = nil
				dropped <- f
				return ensemble.Drop
			}
			return ensemble.Pass
		})
		_, _, events, err := conn.GetW("/PassRequest")
		must(t, err)
		must(t, direct.Delete("/PassRequest", -1))
		if f := <-dropped; f.Xid != -1 {
			t.Errorf("frame %+v", f)
		}
		// The connection goes on, without the event.
		if exists(t, conn, "/PassRequest") {
			t.Error("not deleted")
		}
		select {
		case ev := <-events:
			t.Errorf("event %v", ev)
		default:
		}
	})
}

func TestProxyBlackhole(t *testing.T) {
	e, p, conn, direct := proxied(t)
	createVia := func(path string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Create(path, nil, 0, worldACL)
			done <- err
		}()
		return done
	}
	none := func(what string, done <-chan error) {
		t.Helper()
		select {
		case err := <-done:
			t.Errorf("%s: answered, %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}

	p.Blackhole(ensemble.ToClient)
	done := createVia("/reply-late")
	eventually(t, "applied", 5*time.Second, func() bool { return exists(t, direct, "/reply-late") })
	none("reply held", done)
	p.Heal()
	must(t, <-done)

	p.Blackhole(ensemble.ToServer)
	done = createVia("/request-late")
	none("request held", done)
	if exists(t, direct, "/request-late") {
		t.Error("a request that is held was applied")
	}
	p.Heal()
	must(t, <-done)

	p.Blackhole(ensemble.ToClient)
	done = createVia("/reply-lost")
	eventually(t, "applied", 5*time.Second, func() bool { return exists(t, direct, "/reply-lost") })
	p.DisconnectAll()
	p.Heal()
	if err := <-done; err == nil {
		t.Error("the reply came in spite of the cut")
	}
	eventually(t, "connected again", 10*time.Second, func() bool { return conn.State() == zk.StateHasSession })

	// New connections are taken, and the server learns nothing of them.
	p.Blackhole()
	before, err := e.Metrics(0)
	must(t, err)
	conns := p.Connections()
	raw, err := net.Dial("tcp", p.Addr())
	must(t, err)
	defer raw.Close()
	_, err = raw.Write([]byte("ruok"))
	must(t, err)
	eventually(t, "connection taken", 5*time.Second, func() bool { return p.Connections() == conns+1 })
	must(t, raw.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if n, err := raw.Read(make([]byte, 4)); err == nil || err == io.EOF {
		t.Errorf("through a black hole came %d bytes, %v", n, err)
	}
	after, err := e.Metrics(0)
	must(t, err)
	if a, b := before["zk_num_alive_connections"], after["zk_num_alive_connections"]; a != b {
		t.Errorf("server has %s connections, had %s", b, a)
	}
	p.Heal()
	must(t, raw.SetReadDeadline(time.Now().Add(10*time.Second)))
	if answer, err := io.ReadAll(raw); err != nil || string(answer) != "imok" {
		t.Errorf("four-letter word through the proxy: %q, %v", answer, err)
	}
}

func TestProxyRefuseAndClose(t *testing.T) {
	_, p, conn, _ := proxied(t)
	p.Refuse()
	exists(t, conn, "/") // connections that stand go on
	p.DisconnectAll()
	for range 3 {
		raw, err := net.Dial("tcp", p.Addr())
		must(t, err)
		must(t, raw.SetReadDeadline(time.Now().Add(10*time.Second)))
		if _, err := raw.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("refused connection: %v", err)
		}
		raw.Close()
	}
	eventually(t, "no connection", 5*time.Second, func() bool { return p.Connections() == 0 })
	p.Accept()
	eventually(t, "connected again", 10*time.Second, func() bool { return conn.State() == zk.StateHasSession })
	p.Close()
	p.Close()
	if raw, err := net.Dial("tcp", p.Addr()); err == nil {
		raw.Close()
		t.Error("a closed proxy takes connections")
	}
}

func TestProxyWithoutTarget(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	l.Close()
	p := proxy(t, addr)
	raw, err := net.Dial("tcp", p.Addr())
	must(t, err)
	defer raw.Close()
	must(t, raw.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err := raw.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("connection without a target: %v", err)
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
