package zktest_test

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// compareTimeout is the session timeout that is asked for, in milliseconds: the
// longest that there is, since no session is to expire on a machine that is busy.
const compareTimeout = 60_000

var openACL = []wire.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

// compareClient is one of a player's clients: a session, or none yet, and its
// connection, or none at the moment.
type compareClient struct {
	id       int64
	password []byte
	lastZxid int64
	conn     *compareConn
}

// player takes one server through a sequence.
type player struct {
	dial    func() (net.Conn, error)
	names   namer
	clients [compareClients]compareClient
	count   int // of sessions so far
}

// newPlayer makes root, from whose transaction all others are counted.
func newPlayer(dial func() (net.Conn, error), root string) (*player, error) {
	p := &player{dial: dial, names: namer{root: root, sessions: make(map[int64]int)}}
	var control compareClient
	if text := p.connect(&control, compareStep{}, &control); control.conn == nil {
		return nil, fmt.Errorf("no session to begin with: %s", text)
	}
	defer control.conn.Close()
	for _, r := range []compareRequest{{op: wire.OpCreate, path: root, acl: openACL}, {op: wire.OpExists, path: "/"},
		{op: wire.OpGetAllChildrenNumber, path: "/"}, {op: wire.OpClose}} {
		c := control.conn
		c.xid++
		if err := c.send(r.payload(c.xid, 0)); err != nil {
			return nil, err
		}
		payload, err := c.frame()
		if err != nil {
			return nil, err
		}
		h, body, err := wire.ParseReplyHeader(payload)
		if err != nil || h.Err != wire.CodeOK {
			return nil, fmt.Errorf("%v to begin with: %v, %v", r, h, err)
		}
		switch r.op {
		case wire.OpCreate:
			p.names.base = h.Zxid
		case wire.OpExists:
			d := wire.NewDecoder(body)
			p.names.top = d.Stat()
		case wire.OpGetAllChildrenNumber:
			d := wire.NewDecoder(body)
			p.names.all = d.Int32()
		}
	}
	return p, nil
}

// close ends every session, so that none expires during a later sequence.
func (p *player) close() error {
	for i := range p.clients {
		c := &p.clients[i]
		if c.id == 0 {
			continue
		}
		text := p.play(compareStep{who: i, requests: []compareRequest{{op: wire.OpClose}}})
		if c.id != 0 {
			return fmt.Errorf("client %d does not end: %s", i, text)
		}
	}
	return nil
}

// play does one step and returns what came of it, one line a frame or closed
// connection, by the client to whom it came.
func (p *player) play(s compareStep) string {
	var seen [compareClients][]string
	c := &p.clients[s.who]
	note := func(text string) { seen[s.who] = append(seen[s.who], text) }
	if c.conn == nil {
		note(p.connect(c, s, c))
		// The session is over, which says nothing yet of the step.
		if c.conn == nil {
			c.id = 0
			note(p.connect(c, s, c))
		}
	}
	switch s.do {
	case doDrop, doSetWatches:
		note(p.hangUp(c))
		note(p.connect(c, s, c))
	case doSteal:
		old := *c
		c.conn = nil
		note(p.connect(c, s, c))
		if old.conn != nil {
			note("the old connection: " + p.untilClosed(old.conn))
		}
	case doWrongPassword:
		wrong := compareClient{id: c.id, password: []byte("0123456789abcdef"), lastZxid: c.lastZxid}
		note(p.connect(&wrong, s, c))
		wrong.disconnect()
	case doStranger:
		stranger := compareClient{id: 0x7777777777, password: make([]byte, 16)}
		note(p.connect(&stranger, s, c))
		stranger.disconnect()
	case doFuture:
		future := compareClient{lastZxid: p.names.base + 1<<30}
		note(p.connect(&future, s, c))
		future.disconnect()
	}
	for _, part := range s.rounds() {
		if c.conn != nil {
			seen[s.who] = append(seen[s.who], p.ask(c, part)...)
		}
	}
	if !s.quiet() {
		p.collect(&seen)
	}
	if s.ends() {
		for i := range seen {
			if i == s.who {
				sortEvents(seen[i])
			} else {
				slices.Sort(seen[i])
			}
		}
	}
	return render(seen)
}

// sortEvents sorts the events that come before the same answer.
func sortEvents(lines []string) {
	isEvent := func(line string) bool { return strings.HasPrefix(line, "event ") }
	for begin := range lines {
		end := begin
		for end < len(lines) && isEvent(lines[end]) {
			end++
		}
		slices.Sort(lines[begin:end])
	}
}

func render(seen [compareClients][]string) string {
	var out strings.Builder
	for i, lines := range seen {
		for _, line := range lines {
			fmt.Fprintf(&out, "    to %d: %s\n", i, line)
		}
	}
	return out.String()
}

// connect gives c a connection to its session, or a new session when it has
// none. A new session counts as one of owner's.
func (p *player) connect(c *compareClient, s compareStep, owner *compareClient) string {
	fresh := c.id == 0
	req := wire.ConnectRequest{LastZxidSeen: c.lastZxid, Timeout: compareTimeout, SessionID: c.id, Password: c.password,
		HasReadOnly: s.readOnly}
	if fresh {
		req.Password = make([]byte, 16)
	}
	conn, answer, text := dialRaw(p.dial, req)
	c.conn = conn
	if conn == nil {
		return text
	}
	if fresh && c == owner {
		p.names.sessions[answer.SessionID] = p.count
		p.count++
	}
	if !fresh && answer.SessionID != c.id {
		text += ", ANOTHER SESSION"
	}
	c.id, c.password = answer.SessionID, answer.Password
	return text
}

// ask sends requests at once and returns all that comes up to the last answer.
func (p *player) ask(c *compareClient, requests []compareRequest) []string {
	var payloads [][]byte
	pending := make(map[int32]compareRequest)
	for _, r := range requests {
		c.conn.xid++
		xid := c.conn.xid
		switch r.op {
		case wire.OpAuth:
			xid = wire.XidAuth
		case wire.OpSetWatches, wire.OpSetWatches2:
			xid = wire.XidSetWatches
		}
		// Requests with an xid that is not their own are distinguished by order.
		for _, taken := pending[xid]; taken; _, taken = pending[xid] {
			c.conn.xid++
			xid = c.conn.xid
		}
		pending[xid] = r
		r.data = r.token(c.conn.challenge)
		payloads = append(payloads, r.payload(xid, p.names.base))
	}
	if err := c.conn.send(payloads...); err != nil {
		c.disconnect()
		return []string{readError(err)}
	}
	var lines []string
	for len(pending) > 0 {
		line, h, ok := p.read(c, pending)
		lines = append(lines, line)
		if !ok {
			break
		}
		if r := pending[h.Xid]; r.op == wire.OpClose && h.Err == wire.CodeOK {
			lines = append(lines, p.untilClosed(c.conn))
			c.conn = nil
			*c = compareClient{}
			break
		}
		if h.Xid != wire.XidEvent && (h.Err == wire.CodeUnimplemented || h.Err == wire.CodeAuthFailed) {
			// A moment later: a ping might still be answered.
			lines = append(lines, p.untilClosed(c.conn))
			c.conn = nil
			break
		}
		delete(pending, h.Xid)
	}
	return lines
}

// read reads one frame and returns it as text.
func (p *player) read(c *compareClient, pending map[int32]compareRequest) (string, wire.ReplyHeader, bool) {
	payload, err := c.conn.frame()
	if err != nil {
		c.disconnect()
		return readError(err), wire.ReplyHeader{}, false
	}
	h, body, err := wire.ParseReplyHeader(payload)
	if err != nil {
		return err.Error(), h, true
	}
	if again, ok := sessionAgain(pending); ok && h.Xid == 0 {
		// The answer to a connect request has no header.
		text, err := c.welcomedAgain(payload)
		return fmt.Sprintf("answer %d to %v, %s, %v", again, wire.OpCreateSession, text, err), wire.ReplyHeader{Xid: again}, true
	}
	if h.Xid == wire.XidEvent {
		v, err := wire.ParseEvent(body)
		return fmt.Sprintf("event %d, state %d, %q, zxid %s, %v, %v", v.Type, v.State, v.Path, p.names.zxid(h.Zxid), h.Err, err), h, true
	}
	c.lastZxid = max(c.lastZxid, h.Zxid)
	r, ok := pending[h.Xid]
	text := fmt.Sprintf("answer %d to %v, zxid %s, %v", h.Xid, r.op, p.names.zxid(h.Zxid), h.Err)
	switch {
	case !ok:
		text += fmt.Sprintf(", NOT ASKED FOR, %d bytes", len(body))
	case h.Err == wire.CodeOK:
		text += " " + decodeBody(&p.names, r, body)
		c.conn.keepToken(r.op, body)
	case len(body) > 0:
		text += fmt.Sprintf(", body of %d bytes", len(body))
	}
	return text, h, true
}

// collect takes what has come to each connection, up to the answer to a ping.
func (p *player) collect(seen *[compareClients][]string) {
	ping := wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}.Append(nil)
	expected := map[int32]compareRequest{wire.XidPing: {op: wire.OpPing}}
	var sent [compareClients]error
	for i := range p.clients {
		if c := &p.clients[i]; c.conn != nil {
			sent[i] = c.conn.send(ping)
		}
	}
	for i := range p.clients {
		c := &p.clients[i]
		if c.conn == nil {
			continue
		}
		for {
			line, h, ok := p.read(c, expected)
			seen[i] = append(seen[i], line)
			if !ok || h.Xid == wire.XidPing {
				break
			}
		}
		if c.conn != nil && sent[i] != nil {
			seen[i] = append(seen[i], readError(sent[i]))
			c.disconnect()
		}
	}
}
