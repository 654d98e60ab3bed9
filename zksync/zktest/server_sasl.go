package zktest

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/digestmd5"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// WithSASLUsers makes a [Server] authenticate clients by SASL, mechanism DIGEST-MD5, as
// ZooKeeper does with the SASLAuthenticationProvider and a JAAS file with the
// DigestLoginModule. The map has the users' names and passwords; it is copied. A client
// that has proved a name has the identity of scheme "sasl" with that name, until its
// connection ends, and an ACL may name it. As in ZooKeeper, the user "super" has what any
// ACL grants to a user of SASL. A client that fails gets the error AuthFailed, and then its
// connection ends; its session does not. With nil, the default, a Server has no SASL.
func WithSASLUsers(users map[string]string) Option {
	users = maps.Clone(users)
	return func(c *config) { c.users = users }
}

// isAuth reports whether a request proves who the client is.
func isAuth(op wire.Op) bool { return op == wire.OpAuth || op == wire.OpSASL }

// sasl carries out one step of an authentication by SASL.
func (c *conn) sasl(r *request, e *wire.Encoder) answer {
	users := c.srv.cfg.users
	if users == nil { // ZooKeeper without SASL has no token either
		e.Buffer(nil)
		return answer{xid: r.xid}
	}
	if c.exchange == nil {
		// The names that ZooKeeper's clients know the service by, on whichever host.
		c.exchange = &digestmd5.Exchange{Realm: "zk-sasl-md5", URI: "zookeeper/zk-sasl-md5", Nonce: c.nonce(),
			Password: func(user string) (string, bool) { p, ok := users[user]; return p, ok }}
	}
	token, err := c.exchange.Next(r.Data)
	e.Buffer(token)
	if err != nil {
		c.srv.log("authentication failed", "session", c.session, "error", err)
		return answer{xid: r.xid, code: wire.CodeAuthFailed, whole: true, last: true, silent: errors.Is(err, digestmd5.ErrNumber)}
	}
	if user, ok := c.exchange.User(); ok {
		c.ids = c.ids.Add(tree.Identity{Scheme: "sasl", ID: user})
	}
	return answer{xid: r.xid}
}

// nonce returns a text that no other connection of the session has.
func (c *conn) nonce() string {
	b := binary.BigEndian.AppendUint32(nil, uint32(c.member.index))
	b = binary.BigEndian.AppendUint32(b, uint32(c.number))
	for rng := c.srv.luck(c.session, nonceLuck); len(b) < 30; {
		b = append(b, byte(rng.Uint32()))
	}
	return base64.StdEncoding.EncodeToString(b)
}
