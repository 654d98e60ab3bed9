package zktest_test

import (
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

var saslUsers = map[string]string{"super": "super_secret", "bob": "bobs", "wide": "pässwörd", "wider": "pässwörd€"}

// saslOptions are those of a real server with the users, as saslUsers are of one in
// memory.
func saslOptions(t *testing.T) []ensemble.Option {
	t.Helper()
	var jaas strings.Builder
	jaas.WriteString("Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required")
	for name, password := range saslUsers {
		fmt.Fprintf(&jaas, "\n  user_%s=%q", name, password)
	}
	jaas.WriteString(";\n};\n")
	file := filepath.Join(t.TempDir(), "jaas.conf")
	must(t, os.WriteFile(file, []byte(jaas.String()), 0o600))
	return []ensemble.Option{
		ensemble.WithConfig(map[string]string{"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}),
		ensemble.WithJavaFlags("-Djava.security.auth.login.config="+file, "-Dfile.encoding=UTF-8"),
	}
}

// saslResponse is a client's response to a challenge. Its empty fields have the usual
// values.
type saslResponse struct {
	user, password string
	realm, uri     string
	qop, nc        string            // as they are hashed
	authzid        string            // hashed only
	set            map[string]string // directives with another value than the hashed one; "-": without it
	more           string            // behind the last directive
	spoilAt        int               // where, in thousandths, something takes the place of a byte; 0: nowhere
	spoil          string
}

var nonceOf = regexp.MustCompile(`nonce="([^"]*)"`)

// text returns the response, and the proof that the server owes for it.
func (s saslResponse) text(challenge []byte) (response, proof string) {
	or := func(s, usual string) string {
		if s == "" {
			return usual
		}
		return s
	}
	const cnonce = "OA6MHXh6VqTrRk"
	nonce := "none"
	if m := nonceOf.FindSubmatch(challenge); m != nil {
		nonce = string(m[1])
	}
	realm, uri, qop, nc := or(s.realm, "zk-sasl-md5"), or(s.uri, "zookeeper/zk-sasl-md5"), or(s.qop, "auth"), or(s.nc, "00000001")
	secret := md5.Sum([]byte(s.user + ":" + realm + ":" + s.password))
	a1 := string(secret[:]) + ":" + nonce + ":" + cnonce + s.authzid
	hash := func(s string) string { return fmt.Sprintf("%x", md5.Sum([]byte(s))) }
	digest := func(method string) string {
		return hash(hash(a1) + ":" + nonce + ":" + nc + ":" + cnonce + ":" + qop + ":" + hash(method+":"+uri))
	}
	var list []string
	for _, d := range [][2]string{{"charset", "utf-8"}, {"username", `"` + s.user + `"`}, {"realm", `"` + realm + `"`},
		{"nonce", `"` + nonce + `"`}, {"nc", nc}, {"cnonce", `"` + cnonce + `"`}, {"digest-uri", `"` + uri + `"`},
		{"maxbuf", "65536"}, {"response", digest("AUTHENTICATE")}, {"qop", qop}} {
		if v := or(s.set[d[0]], d[1]); v != "-" {
			list = append(list, d[0]+"="+v)
		}
	}
	response = strings.Join(list, ",") + s.more
	if i := len(response) * s.spoilAt / 1000; i > 0 {
		response = response[:i] + s.spoil + response[i+1:]
	}
	return response, "rspauth=" + digest("")
}

const bobsIDs = `[{"ip" "127.0.0.1"} {"sasl" "bob"}]`

var saslResponses = []struct {
	name string
	saslResponse
	want string
}{
	{"usual", saslResponse{user: "bob", password: "bobs"}, bobsIDs},
	{"wrong password", saslResponse{user: "bob", password: "alices"}, "AuthFailed"},
	{"unknown user", saslResponse{user: "eve", password: "eves"}, "AuthFailed"},
	{"password of ISO 8859-1", saslResponse{user: "wide", password: "p\xe4ssw\xf6rd"}, `[{"ip" "127.0.0.1"} {"sasl" "wide"}]`},
	{"the same in UTF-8", saslResponse{user: "wide", password: "pässwörd"}, "AuthFailed"},
	{"password of UTF-8", saslResponse{user: "wider", password: "pässwörd€"}, `[{"ip" "127.0.0.1"} {"sasl" "wider"}]`},
	{"no charset", saslResponse{user: "bob", password: "bobs", set: map[string]string{"charset": "-"}}, bobsIDs},
	{"another charset", saslResponse{user: "bob", password: "bobs", set: map[string]string{"charset": "UTF-8"}}, "AuthFailed"},
	{"no realm", saslResponse{user: "bob", password: "bobs", set: map[string]string{"realm": "-"}}, "AuthFailed"},
	{"another realm", saslResponse{user: "bob", password: "bobs", realm: "other"}, "AuthFailed"},
	{"no user", saslResponse{user: "bob", password: "bobs", set: map[string]string{"username": "-"}}, "AuthFailed"},
	{"no nonce", saslResponse{user: "bob", password: "bobs", set: map[string]string{"nonce": "-"}}, "AuthFailed"},
	{"another nonce", saslResponse{user: "bob", password: "bobs", set: map[string]string{"nonce": `"other"`}}, "AuthFailed"},
	{"no cnonce", saslResponse{user: "bob", password: "bobs", set: map[string]string{"cnonce": "-"}}, "AuthFailed"},
	{"no response", saslResponse{user: "bob", password: "bobs", set: map[string]string{"response": "-"}}, "AuthFailed"},
	{"no count", saslResponse{user: "bob", password: "bobs", set: map[string]string{"nc": "-"}}, bobsIDs},
	{"a count that is not looked at", saslResponse{user: "bob", password: "bobs", set: map[string]string{"nc": "many"}}, bobsIDs},
	{"a second use", saslResponse{user: "bob", password: "bobs", nc: "00000002"}, "AuthFailed"},
	{"a count by its long name", saslResponse{user: "bob", password: "bobs", more: ",nonce-count=0001"}, bobsIDs},
	{"a wrong count", saslResponse{user: "bob", password: "bobs", more: ",nonce-count=2"}, "AuthFailed"},
	{"a count that is none", saslResponse{user: "bob", password: "bobs", more: ",nonce-count=many"}, "closed"},
	{"no qop", saslResponse{user: "bob", password: "bobs", set: map[string]string{"qop": "-"}}, bobsIDs},
	{"quoted qop", saslResponse{user: "bob", password: "bobs", set: map[string]string{"qop": `"auth"`}}, bobsIDs},
	{"integrity", saslResponse{user: "bob", password: "bobs", qop: "auth-int"}, "AuthFailed"},
	{"unknown qop", saslResponse{user: "bob", password: "bobs", qop: "trust"}, "AuthFailed"},
	{"no URI", saslResponse{user: "bob", password: "bobs", set: map[string]string{"digest-uri": "-"}}, "AuthFailed"},
	{"URI in capitals", saslResponse{user: "bob", password: "bobs", uri: "ZooKeeper/ZK-SASL-MD5"}, bobsIDs},
	{"URI of a host", saslResponse{user: "bob", password: "bobs", uri: "zookeeper/localhost"}, "AuthFailed"},
	{"no maxbuf", saslResponse{user: "bob", password: "bobs", set: map[string]string{"maxbuf": "-"}}, bobsIDs},
	{"negative maxbuf", saslResponse{user: "bob", password: "bobs", set: map[string]string{"maxbuf": "-5"}}, bobsIDs},
	{"maxbuf that is none", saslResponse{user: "bob", password: "bobs", set: map[string]string{"maxbuf": "much"}}, "closed"},
	{"maxbuf without a value", saslResponse{user: "bob", password: "bobs", set: map[string]string{"maxbuf": "-"}, more: ",maxbuf"}, "closed"},
	{"in another's name", saslResponse{user: "bob", password: "bobs", authzid: ":eve", more: `,authzid="eve"`}, bobsIDs},
	{"in another's name, not hashed", saslResponse{user: "bob", password: "bobs", more: `,authzid="eve"`}, "AuthFailed"},
	{"unknown directives", saslResponse{user: "bob", password: "bobs", more: "\t, x = \"\\\"\" y=1,y=2,,"}, bobsIDs},
	{"a name by itself", saslResponse{user: "bob", password: "bobs", more: ",x"}, bobsIDs},
	{"a name by itself, not the last", saslResponse{user: "bob", password: "bobs", more: ",x,y=1"}, "AuthFailed"},
	{"two names", saslResponse{user: "bob", password: "bobs", more: ",x y=1"}, "AuthFailed"},
	{"a value without a name", saslResponse{user: "bob", password: "bobs", more: ",=1"}, "AuthFailed"},
	{"a name without a value", saslResponse{user: "bob", password: "bobs", more: ",x="}, "AuthFailed"},
	{"an open quote", saslResponse{user: "bob", password: "bobs", more: `,x="`}, "AuthFailed"},
	{"a backslash at the end", saslResponse{user: "bob", password: "bobs", more: `,x="\`}, "AuthFailed"},
	{"no separator", saslResponse{user: "bob", password: "bobs", more: `,x="1"y=1`}, "AuthFailed"},
	{"twice", saslResponse{user: "bob", password: "bobs", more: ",QOP=auth"}, "AuthFailed"},
	{"twice, a name by itself", saslResponse{user: "bob", password: "bobs", more: ",realm"}, "AuthFailed"},
	{"too long", saslResponse{user: "bob", password: "bobs", more: ",x=" + strings.Repeat("x", 4096)}, "AuthFailed"},
}
