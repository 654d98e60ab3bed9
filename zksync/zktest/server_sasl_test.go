package zktest_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// sasl sends a token and returns the answer to it.
func (c *rawConn) sasl(token string) (answer []byte, code wire.Code, closed bool) {
	c.t.Helper()
	r, _ := c.do(wire.OpSASL, []byte(token))
	if r.closed {
		return nil, 0, true
	}
	d := wire.NewDecoder(r.body)
	answer = d.Buffer()
	if d.Err() != nil || d.Len() > 0 || r.Zxid != 0 || (r.Err != 0) != (answer == nil) {
		c.t.Fatalf("answer %+v to a token", r)
	}
	return answer, r.Err, false
}

// authenticate sends a response to a challenge, and returns what came of it, as text.
func (c *rawConn) authenticate(s saslResponse) string {
	c.t.Helper()
	challenge, code, closed := c.sasl("")
	if closed || code != 0 {
		c.t.Fatalf("no challenge: closed %t, %v", closed, code)
	}
	response, proof := s.text(challenge)
	answer, code, closed := c.sasl(response)
	switch {
	case closed:
		return "closed"
	case code != 0:
		if r, _ := c.do(wire.OpPing); !r.closed {
			c.t.Errorf("the connection stays after %v", code)
		}
		return code.String()
	case s.nc == "" && s.realm == "" && string(answer) != proof:
		c.t.Errorf("the server proves itself by %q, want %q", answer, proof)
	}
	return c.whoAmI()
}

func (c *rawConn) whoAmI() string {
	c.t.Helper()
	r, _ := c.do(wire.OpWhoAmI)
	return strings.TrimPrefix(text(c, wire.OpWhoAmI, r, c.zxid), "@0 ")
}

// TestSASL: what a client says for its authentication has the same result on both
// servers.
func TestSASL(t *testing.T) {
	bothWith(t, []zktest.Option{zktest.WithSASLUsers(saslUsers)}, saslOptions(t), func(t *testing.T, connect func() *rawConn, _ bool) {
		for _, s := range saslResponses {
			t.Run(s.name, func(t *testing.T) {
				c := connect()
				c.t = t
				if got := c.authenticate(s.saslResponse); got != s.want {
					t.Errorf("got %s, want %s", got, s.want)
				}
			})
		}
		t.Run("exchange", func(t *testing.T) { saslExchange(t, connect) })
		t.Run("acl", func(t *testing.T) { saslACL(t, connect) })
	})
}

// saslExchange is about the tokens as such.
func saslExchange(t *testing.T, connect func() *rawConn) {
	c := connect()
	challenge, _, _ := c.sasl("whatever")
	shown := nonceOf.ReplaceAll(challenge, []byte(`nonce="?"`))
	if want := `realm="zk-sasl-md5",nonce="?",charset=utf-8,algorithm=md5-sess`; string(shown) != want {
		t.Errorf("challenge %q, want %q", shown, want)
	}
	if nonce := nonceOf.FindSubmatch(challenge)[1]; len(nonce) != 40 {
		t.Errorf("nonce %q", nonce)
	}
	other, _, _ := connect().sasl("")
	if string(other) == string(challenge) {
		t.Error("two connections have the same challenge")
	}
	if _, code, _ := c.sasl(""); code != wire.CodeAuthFailed {
		t.Errorf("no response: %v", code)
	}

	c = connect()
	c.authenticate(saslResponse{user: "bob", password: "bobs"})
	if _, code, _ := c.sasl(""); code != wire.CodeAuthFailed {
		t.Errorf("a token after the last one: %v", code)
	}
	if r, _ := c.do(wire.OpPing); !r.closed {
		t.Error("the connection stays")
	}

	// The session goes on, as nobody.
	again := c.dial()
	if !again.hello(c.again()) || again.hi.SessionID != c.hi.SessionID {
		t.Fatal("the session is over")
	}
	if got := again.whoAmI(); got != `[{"ip" "127.0.0.1"}]` {
		t.Errorf("on the next connection the client is %s", got)
	}
}

// saslACL is about what the clients may do.
func saslACL(t *testing.T, connect func() *rawConn) {
	bob, super, nobody := connect(), connect(), connect()
	bob.authenticate(saslResponse{user: "bob", password: "bobs"})
	super.authenticate(saslResponse{user: "super", password: "super_secret"})
	for _, test := range []struct {
		who  *rawConn
		op   wire.Op
		want string
		args []any
	}{
		{bob, wire.OpCreate, " /bob", []any{"/bob", null, acl(31, "sasl", "bob"), 0}},
		{bob, wire.OpSetData, "", []any{"/bob", []byte("x"), -1}},
		{nobody, wire.OpGetData, " NoAuth", []any{"/bob", false}},
		{nobody, wire.OpGetACL, " NoAuth", []any{"/bob"}},
		{nobody, wire.OpSetData, " NoAuth", []any{"/bob", null, -1}},
		{nobody, wire.OpCreate, " NoAuth", crt("/bob/x", 0)},
		{super, wire.OpGetData, ` "x"`, []any{"/bob", false}},
		{nobody, wire.OpCreate, " /digest", []any{"/digest", null, acl(31, "digest", digestAB), 0}},
		{super, wire.OpGetData, " NoAuth", []any{"/digest", false}},
		{bob, wire.OpCreate, " /auth", []any{"/auth", null, acl(7, "auth", ""), 0}},
		{nobody, wire.OpCreate, " InvalidACL", []any{"/auth2", null, acl(7, "auth", ""), 0}},
		{bob, wire.OpGetACL, " 7:sasl:bob", []any{"/auth"}},
		{bob, wire.OpSetACL, " NoAuth", []any{"/auth", open31, -1}},
		{nobody, wire.OpCreate, " InvalidACL", []any{"/super", null, acl(31, "super", ""), 0}},
		{nobody, wire.OpCreate, " /n1", []any{"/n1", null, acl(31, "sasl", ""), 0}},
		{nobody, wire.OpCreate, " /n2", []any{"/n2", null, acl(31, "sasl", "a@b"), 0}},
		{nobody, wire.OpCreate, " /n3", []any{"/n3", null, acl(31, "sasl", "a/b@c"), 0}},
		{nobody, wire.OpCreate, " /n4", []any{"/n4", null, acl(31, "sasl", "a/b/c"), 0}},
		{nobody, wire.OpCreate, " InvalidACL", []any{"/n5", null, acl(31, "sasl", "a@b@c"), 0}},
		{nobody, wire.OpCreate, " InvalidACL", []any{"/n6", null, acl(31, "sasl", "a/b/c@d"), 0}},
		{nobody, wire.OpCreate, " InvalidACL", []any{"/n7", null, acl(31, "sasl", "a@b/c"), 0}},
		{nobody, wire.OpSetACL, " NoAuth", []any{"/n1", open31, -1}},
		{super, wire.OpSetACL, "", []any{"/n1", open31, -1}},
		{bob, wire.OpAuth, "", []any{0, "digest", []byte("a:b")}},
		{bob, wire.OpGetData, " null", []any{"/digest", false}},
		{nobody, wire.OpAuth, " AuthFailed", []any{0, "sasl", []byte("bob:bobs")}},
	} {
		r, _ := test.who.do(test.op, test.args...)
		_, got, _ := strings.Cut(text(test.who, test.op, r, 0), " ")
		if got, _, _ = strings.Cut(" "+got, " {"); strings.TrimSpace(got) != strings.TrimSpace(test.want) {
			t.Errorf("%v %.60q: got %s, want %s", test.op, fmt.Sprint(test.args...), got, test.want)
		}
	}
}

// saslInput is what the second client of a server sends for its authentication. A server
// of the same seed gives it the same nonce.
func saslInput(t testing.TB, response saslResponse) []byte {
	s := zktest.New(zktest.WithSASLUsers(saslUsers))
	defer s.Close()
	open(t, s)
	challenge, _, _ := open(t, s).sasl("")
	text, _ := response.text(challenge)
	in := wire.AppendFrame(nil, newSession.Append(nil))
	for i, token := range []string{"", text} {
		in = wire.AppendFrame(in, append(wire.RequestHeader{Xid: int32(i), Op: wire.OpSASL}.Append(nil), body([]byte(token))...))
	}
	who := wire.RequestHeader{Xid: 2, Op: wire.OpWhoAmI}.Append(nil)
	return wire.AppendFrame(in, who)
}

// TestSASLSeed: a server's seed fixes the challenges, and no two connections have the
// same one.
func TestSASLSeed(t *testing.T) {
	seen := make(map[string]uint64)
	for _, seed := range []uint64{1, 1, 2} {
		bubble.Test(t, func(t *testing.T) {
			s := zktest.Run(t, zktest.WithSeed(seed), zktest.WithSASLUsers(saslUsers))
			s.AddMember()
			first := open(t, s)
			again, other := rawDial(t, s.Dial, ""), rawDial(t, s.Member(1).Dial, "")
			for i, c := range []*rawConn{first, again, other} {
				if i > 0 && !c.hello(first.again()) {
					t.Fatal("no session")
				}
				challenge, _, _ := c.sasl("")
				if by, ok := seen[string(challenge)]; ok && by != seed {
					t.Errorf("seeds %d and %d: %s", by, seed, challenge)
				}
				seen[string(challenge)] = seed
			}
		})
	}
	if len(seen) != 6 {
		t.Errorf("%d challenges of 3 connections each to servers of 2 seeds, want 6", len(seen))
	}
}

// TestSASLLog: a server logs that a client has failed, and nobody's password.
func TestSASLLog(t *testing.T) {
	var log strings.Builder
	bubble.Test(t, func(t *testing.T) {
		h := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		s := zktest.Run(t, zktest.WithSASLUsers(saslUsers), zktest.WithLogger(slog.New(h)))
		open(t, s).authenticate(saslResponse{user: "bob", password: "bobs"})
		open(t, s).authenticate(saslResponse{user: "bob", password: "alices"})
		s.Close()
	})
	if !strings.Contains(log.String(), "authentication failed") {
		t.Error("the log tells of no failure")
	}
	for _, secret := range []string{"bobs", "alices", "super_secret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}
