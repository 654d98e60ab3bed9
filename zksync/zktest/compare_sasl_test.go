package zktest_test

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// sasl is an authentication, mostly a good one. No user has the password of a user that
// there is not: ZooKeeper 3.8 takes any name with the password of the user before.
func (r compareRandom) sasl() []compareRequest {
	s := pick(r, saslResponses...).saslResponse
	if r.IntN(3) > 0 {
		s = saslResponse{user: "bob", password: "bobs"}
		if r.IntN(4) == 0 {
			s = saslResponse{user: "super", password: "super_secret"}
		}
	}
	if r.IntN(4) == 0 { // with nothing that a nonce may have in it, and no number that goes on with the digits of a hash
		s.spoilAt, s.spoil = 1+r.IntN(999), pick(r, "", `"`, ",", `\`, " ", "=", ";", "\x00", "\xff", ",maxbuf=x", ",,", "\t=\n")
	}
	list := []compareRequest{
		{op: wire.OpSASL, data: pick(r, []byte{}, []byte{}, []byte{}, []byte("x"))},
		{op: wire.OpSASL, sasl: &s}, {op: wire.OpWhoAmI},
	}
	if r.IntN(10) == 0 {
		i := r.IntN(len(list) + 1)
		list = slices.Insert(list, i, compareRequest{op: wire.OpSASL, data: r.data()})
	}
	return list
}

// rounds are the requests that are sent at once.
func (s compareStep) rounds() [][]compareRequest {
	if s.do == doInTurn {
		return slices.Collect(slices.Chunk(s.requests, 1))
	}
	if len(s.requests) == 0 {
		return nil
	}
	return [][]compareRequest{s.requests}
}

// keepToken keeps the token in an answer: the next one of the client is made from it.
func (c *compareConn) keepToken(op wire.Op, body []byte) {
	if d := wire.NewDecoder(body); op == wire.OpSASL {
		c.challenge = slices.Clone(d.Buffer())
	}
}

// token returns the token of a sasl, which may answer a challenge.
func (r compareRequest) token(challenge []byte) []byte {
	if r.sasl == nil {
		return r.data
	}
	response, _ := r.sasl.text(challenge)
	return []byte(response)
}

func (r compareRequest) saslText() string {
	if r.sasl == nil {
		return r.dataText()
	}
	return fmt.Sprintf("%+v", *r.sasl)
}

var secretOf = regexp.MustCompile(`nonce="[^"]{40}"|rspauth=[0-9a-f]{32}$`)

// decodeToken is a token of the server without what is another one each time.
func decodeToken(token []byte) string {
	return fmt.Sprintf("%q null=%t", secretOf.ReplaceAll(token, []byte("?")), token == nil)
}
