package zktest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// What ZooKeeper's own clients hear of their authentication, and what they may do.
var saslJava = []struct {
	name  string
	users map[string]string // of the server, nil: it has no SASL
	want  string
}{
	{"users", saslUsers, `known: SyncConnected SaslAuthenticated [ip=127.0.0.1, sasl=bob] who create get auth
nobody: SyncConnected [ip=127.0.0.1] who create:NODEEXISTS get:NOAUTH auth:INVALIDACL
super: SyncConnected SaslAuthenticated [ip=127.0.0.1, sasl=super] who create:NODEEXISTS get auth
wide: SyncConnected SaslAuthenticated [ip=127.0.0.1, sasl=wide] who create:NODEEXISTS get:NOAUTH auth
wider: SyncConnected SaslAuthenticated [ip=127.0.0.1, sasl=wider] who create:NODEEXISTS get:NOAUTH auth
wrong: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
unknown: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
`},
	{"no SASL", nil, `known: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
nobody: SyncConnected [ip=127.0.0.1] who create:INVALIDACL get:NONODE auth:INVALIDACL
super: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
wide: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
wider: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
wrong: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
unknown: SyncConnected AuthFailed [] who create:AUTHFAILED get:AUTHFAILED auth:AUTHFAILED
`},
}

// TestSASLWithJava: ZooKeeper's own client authenticates itself, on both servers.
func TestSASLWithJava(t *testing.T) {
	suite.Long(t)
	command := javaProgram(t, "JavaSasl", "libzookeeper-java and default-jre-headless", "zookeeper", "zookeeper-jute", "slf4j-api")
	clients := func(t *testing.T, addr, want string) {
		cmd := exec.CommandContext(t.Context(), command[0], append(slices.Clone(command[1:]), addr)...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("%v\ngot\n%swant\n%s%s", err, out, want, errs.String())
		}
	}
	for _, test := range saslJava {
		t.Run(test.name, func(t *testing.T) {
			t.Run("memory", func(t *testing.T) {
				clients(t, zktest.Run(t, zktest.WithSASLUsers(test.users), zktest.WithSessionLimits(time.Second, time.Minute)).Addr(), test.want)
			})
			t.Run("real", func(t *testing.T) {
				var opts []ensemble.Option
				if test.users != nil {
					opts = saslOptions(t)
				}
				e := ensemble.Run(t, 1, opts...)
				keepAwake(t, dialTCP(e.Addr(0)))
				clients(t, e.Addr(0), test.want)
			})
		})
	}
}
