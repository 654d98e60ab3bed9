package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// hosts is the client's list of hosts. It holds names, which the dialer resolves at
// each dial; the client's own list resolves them once. It asks the client for no
// pause, since the client would pause for a whole second, and the dialer has pauses of
// its own. Once the link is dead it asks for one: only in a pause does the client's
// loop notice that the client is closed (conn.go:375-385).
type hosts struct{ l *link }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return len(h.l.addrs) }
func (h hosts) Connected()          {}

func (h hosts) Next() (string, bool) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	s := h.l.addrs[h.l.next%len(h.l.addrs)]
	h.l.next++
	if h.l.dead {
		select {
		case <-h.l.idling:
		default:
			close(h.l.idling)
		}
	}
	return s, h.l.dead
}

var errDead = errors.New("connection given up")

// dial is the client's dialer. It pauses first if each server has failed.
func (l *link) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	l.mu.Lock()
	l.active = time.Now()
	before := l.cur
	l.cur = nil
	pause, limit := l.pauseLocked(), l.limitLocked()
	l.mu.Unlock()
	if before != nil {
		before.cut() // the client leaves it open after an expiry (conn.go:435-437)
	}
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-l.done:
		}
	}
	select {
	case <-l.done:
		return nil, errDead
	default:
	}
	raw, conn, err := l.open(network, addr, limit)
	if err != nil {
		l.failed(addr, err)
		return nil, err
	}
	f := newFramed(l, raw, conn, addr, limit)
	l.mu.Lock()
	l.active = time.Now()
	dead := l.dead
	if !dead {
		l.cur = f
	}
	l.mu.Unlock()
	if dead {
		f.cut()
		return nil, errDead
	}
	return f, nil
}

// open opens a TCP connection, and TLS on it if that is configured.
func (l *link) open(network, addr string, limit time.Duration) (raw, conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(l.c.life, limit)
	defer cancel()
	dial := l.c.cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	raw, err = dial(ctx, network, addr)
	if err != nil || l.c.cfg.TLS == nil {
		return raw, raw, err
	}
	cfg := l.c.cfg.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	tc := tls.Client(raw, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, err
	}
	return raw, tc, nil
}
