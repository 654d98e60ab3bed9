package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync"
)

// The environment variables that take the place of flags.
const (
	envServers = "ZKSYNC_SERVERS"
	envAuth    = "ZKSYNC_AUTH"
)

// config holds the flags that say where ZooKeeper is and how to connect to it.
type config struct {
	servers        string
	connectTimeout seconds
	sessionTimeout seconds
	identity       string
	authFile       string
	ca, cert, key  string // files, PEM
	serverName     string
}

// addFlags adds the flags of a command that takes locks to f, and sets their
// defaults.
func (c *config) addFlags(f *pflag.FlagSet) {
	c.addConnection(f)
	f.Var(&c.sessionTimeout, "session-timeout", "session timeout to ask for; the lock of a dead zksync stays this long")
	f.StringVar(&c.identity, "identity", "", "`name` that waiters see (default the command's file name)")
}

// addConnection adds the flags of every command that connects to ZooKeeper to f, and
// sets their defaults.
func (c *config) addConnection(f *pflag.FlagSet) {
	c.connectTimeout = seconds(30 * time.Second)
	c.sessionTimeout = seconds(zksync.DefaultSessionTimeout)
	f.StringVar(&c.servers, "servers", "", "ZooKeeper servers, as `host:port,...` with an optional /chroot at the end (default $"+envServers+")")
	f.Var(&c.connectTimeout, "connect-timeout", "wait at most this long for the first session with ZooKeeper; 0 waits forever")
	f.StringVar(&c.authFile, "auth-file", "", "`file` that contains scheme:credential (default the value of $"+envAuth+")")
	f.StringVar(&c.ca, "tls-ca", "", "use TLS, and trust the certificates in this PEM `file`")
	f.StringVar(&c.cert, "tls-cert", "", "use TLS, and present the certificate in this PEM `file`")
	f.StringVar(&c.key, "tls-key", "", "the key of --tls-cert, a PEM `file`")
	f.StringVar(&c.serverName, "tls-server-name", "", "use TLS, and expect this `name` in the servers' certificates")
}

// dialArgs returns the arguments for [zksync.Dial]. No error of it quotes a
// credential.
func (c *config) dialArgs() (servers []string, opts []zksync.DialOption, err error) {
	servers, chroot, err := c.serverList()
	if err != nil {
		return nil, nil, err
	}
	if chroot != "" {
		opts = append(opts, zksync.WithChroot(chroot))
	}
	opts = append(opts, zksync.WithSessionTimeout(time.Duration(c.sessionTimeout)))
	if c.identity != "" {
		opts = append(opts, zksync.WithIdentity(c.identity))
	}
	scheme, cred, err := c.auth()
	if err != nil {
		return nil, nil, err
	}
	if scheme != "" {
		opts = append(opts, zksync.WithAuth(scheme, cred))
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, nil, err
	}
	if tlsConfig != nil {
		opts = append(opts, zksync.WithTLS(tlsConfig))
	}
	return servers, opts, nil
}

// serverList reads the connect string that ZooKeeper's tools take:
// host:port,host:port/chroot.
func (c *config) serverList() (servers []string, chroot string, err error) {
	list, from := c.servers, "--servers"
	if list == "" {
		list, from = os.Getenv(envServers), envServers
	}
	if list == "" {
		return nil, "", exit.Usagef("no ZooKeeper servers: give --servers host:port,... or set %s", envServers)
	}
	if err := checkList(from, list); err != nil {
		return nil, "", err
	}
	list, chroot, found := strings.Cut(list, "/")
	if found && chroot != "" {
		if err := checkChroot(from, list, "/"+chroot); err != nil {
			return nil, "", err
		}
		chroot = "/" + chroot
	}
	for server := range strings.SplitSeq(list, ",") {
		server = strings.TrimSpace(server)
		if server == "" {
			return nil, "", exit.Usagef("%s: empty server in %q", from, list)
		}
		if _, err := withPort(server); err != nil {
			return nil, "", exit.Usagef("%s: %w", from, err)
		}
		servers = append(servers, server)
	}
	return servers, chroot, nil
}

// auth returns the credential to show to ZooKeeper. An empty scheme means that
// there is none.
func (c *config) auth() (scheme string, cred []byte, err error) {
	text, from := []byte(os.Getenv(envAuth)), envAuth
	if c.authFile != "" {
		from = "--auth-file"
		if text, err = os.ReadFile(c.authFile); err != nil {
			return "", nil, exit.Usagef("%s: %w", from, err)
		}
		text = bytes.TrimRight(text, "\r\n")
	} else if len(text) == 0 {
		return "", nil, nil
	}
	before, after, found := bytes.Cut(text, []byte(":"))
	if !found || len(before) == 0 || len(after) == 0 {
		return "", nil, exit.Usagef("%s: want scheme:credential, as in digest:user:password", from)
	}
	return string(before), after, nil
}

// tls returns the TLS configuration, or nil if no flag asks for TLS.
func (c *config) tls() (*tls.Config, error) {
	if (c.cert == "") != (c.key == "") {
		return nil, exit.Usagef("--tls-cert and --tls-key go together")
	}
	if c.ca == "" && c.cert == "" && c.serverName == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.serverName}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, exit.Usagef("--tls-ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, exit.Usagef("--tls-ca: no certificate in %s", c.ca)
		}
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, exit.Usagef("--tls-cert, --tls-key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}
