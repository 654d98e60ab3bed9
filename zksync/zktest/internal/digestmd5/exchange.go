package digestmd5

import (
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNumber is wrapped by the errors of [Exchange.Next] for a number that is none.
// ZooKeeper closes the connection then, without an answer.
var ErrNumber = errors.New("not a number")

// maxResponse is the longest response, in bytes.
const maxResponse = 4096

// Exchange authenticates one client, once. Its fields are set before the first call of
// Next. It must not be copied after that. One goroutine may use it at a time.
type Exchange struct {
	Realm string
	URI   string // the service and its host, as "zookeeper/zk-sasl-md5"
	Nonce string // unlike that of any other exchange

	// Password returns the password of a user, or false if there is no such user.
	Password func(user string) (password string, ok bool)

	challenged bool
	over       bool
	proved     bool
	user       string
}

// User returns the name of the client, or false while it has not proved that it is that
// user.
func (x *Exchange) User() (name string, ok bool) { return x.user, x.proved }

// Next takes the next token of the client, and returns the answer to it. The first one
// counts for nothing, the second one is the response to the challenge, and no other may
// follow. The error does not say what a password is. It wraps ErrNumber if a number in
// the response is none.
func (x *Exchange) Next(token []byte) ([]byte, error) {
	switch {
	case len(token) > maxResponse:
		return nil, fmt.Errorf("a token of %d bytes", len(token))
	case x.over:
		return nil, errors.New("a token after the last one")
	case !x.challenged:
		x.challenged = true
		return fmt.Appendf(nil, `realm="%s",nonce="%s",charset=utf-8,algorithm=md5-sess`, quote(x.Realm), quote(x.Nonce)), nil
	}
	x.over = true
	d, err := parse(string(token))
	if err == nil {
		err = x.check(d)
	}
	if err != nil {
		return nil, err
	}
	secret, known := x.Password(d["username"])
	want := x.digest("AUTHENTICATE", d, secret)
	same := subtle.ConstantTimeCompare([]byte(want), []byte(d["response"])) == 1
	if !same || !known {
		return nil, errors.New("user or password are wrong")
	}
	x.user, x.proved = d["username"], true
	return []byte("rspauth=" + x.digest("", d, secret)), nil
}

func quote(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// check returns what is wrong with a response before the password is known.
func (x *Exchange) check(d directives) error {
	if v, ok := d["charset"]; ok && v != "utf-8" {
		return errors.New("the charset is not utf-8")
	}
	if _, err := strconv.ParseInt(d.or("maxbuf", "0"), 10, 32); err != nil {
		return fmt.Errorf("maxbuf is %w", ErrNumber)
	}
	for _, name := range []string{"username", "cnonce"} {
		if _, ok := d[name]; !ok {
			return fmt.Errorf("no %s", name)
		}
	}
	if d["realm"] != x.Realm || d["nonce"] != x.Nonce {
		return errors.New("the realm or the nonce is not that of the challenge")
	}
	if n, err := strconv.ParseInt(d.or("nonce-count", "1"), 16, 32); err != nil {
		return fmt.Errorf("nonce-count is %w", ErrNumber)
	} else if n != 1 {
		return errors.New("nonce-count is not 1")
	}
	if d.or("qop", "auth") != "auth" {
		return errors.New("qop is not auth")
	}
	if !strings.EqualFold(d["digest-uri"], x.URI) {
		return errors.New("another digest-uri")
	}
	return nil
}

// digest returns the value that proves who knows the password: the client by the method
// AUTHENTICATE, the server by an empty one.
func (x *Exchange) digest(method string, d directives, password string) string {
	secret := md5.Sum([]byte(narrow(d["username"]) + ":" + narrow(x.Realm) + ":" + narrow(password)))
	a1 := string(secret[:]) + ":" + x.Nonce + ":" + d["cnonce"]
	if id, ok := d["authzid"]; ok {
		a1 += ":" + id
	}
	a2 := method + ":" + d["digest-uri"]
	return hash(hash(a1) + ":" + x.Nonce + ":00000001:" + d["cnonce"] + ":auth:" + hash(a2))
}

func hash(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// narrow returns s in ISO 8859-1 if all of it has a place there. The RFC wants the user,
// the realm and the password hashed so.
func narrow(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b = append(b, byte(r))
	}
	return string(b)
}
