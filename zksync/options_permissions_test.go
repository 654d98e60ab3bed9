package zksync_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The statements of the guide about permissions.

// digest authenticates a session as a user whose password is "secret".
func digest(user string) zksync.DialOption {
	return zksync.WithAuth("digest", []byte(user+":secret"))
}

// may is an access list that gives a user some permissions.
func may(user string, perms int32) []zk.ACL { return zk.DigestACL(perms, user, "secret") }

// ZooKeeper has no list of users, so that it has no wrong passwords either: one
// only makes another user.
func TestWrongPasswordShowsAtTheLock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		suite.MakePath(t, z.Raw(t), path.Dir(p)) // which other tests use
		acl := zksync.WithACL(may("orders", zk.PermAll)...)
		suite.LockAndUnlock(t, zksync.NewMutex(z.Dial(t, digest("orders")), p, acl))
		noAuth(t, zksync.NewMutex(z.Dial(t, zksync.WithAuth("digest", []byte("orders:guess"))), p, acl))
	})
}

// A lock's access list is that of its nodes, and of each level of its path that
// had to be made.
func TestPathsAreMadeWithTheLocksAccessList(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t, digest("orders"))
		p := z.Path(t) + "/team/lock"
		suite.MakePath(t, z.Raw(t), path.Dir(path.Dir(path.Dir(p)))) // which other tests use
		acl := may("orders", zk.PermAll)
		h, err := zksync.NewMutex(s, p, zksync.WithACL(acl...)).Hold(suite.Context(t))
		suite.Must(t, err)
		for _, node := range []string{path.Dir(p), p, h.Node()} {
			got, _, err := s.Conn().GetACL(node)
			suite.Must(t, err)
			if !reflect.DeepEqual(got, acl) {
				t.Errorf("%s has %v, want %v", node, got, acl)
			}
		}
		suite.Must(t, h.Release(suite.Context(t)))
	})
}

// An administrator makes the path. Its users may create, delete and read there,
// and may do nothing above it; they read each other's nodes, and that is all they
// may do to them.
func TestPermissionsThatALockNeeds(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		admin := z.Raw(t)
		suite.Must(t, admin.AddAuth("digest", []byte("admin:secret")))
		top := z.Path(t)
		suite.MakePath(t, admin, path.Dir(top))
		_, err := admin.Create(top, nil, 0, may("admin", zk.PermAll))
		suite.Must(t, err)
		p := top + "/lock"
		users := append(may("a", zk.PermCreate|zk.PermDelete|zk.PermRead), may("b", zk.PermCreate|zk.PermDelete|zk.PermRead)...)
		_, err = admin.Create(p, nil, 0, append(users, may("admin", zk.PermAll)...))
		suite.Must(t, err)
		readable := zksync.WithACL(append(may("a", zk.PermRead), may("b", zk.PermRead)...)...)
		a := zksync.NewMutex(z.Dial(t, digest("a")), p, readable)
		b := zksync.NewMutex(z.Dial(t, digest("b")), p, readable)
		for range 2 {
			h, err := a.Hold(suite.Context(t))
			suite.Must(t, err)
			next := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
			suite.InLine(t, admin, p, 2)
			suite.Must(t, h.Release(suite.Context(t)))
			suite.Must(t, suite.Receive(t, next))
			suite.Must(t, b.UnlockContext(suite.Context(t)))
		}
		noAuth(t, zksync.NewMutex(z.Dial(t, digest("c")), p, readable))
		noAuth(t, zksync.NewMutex(z.Dial(t, digest("a")), top+"/other", readable))
	})
}

// The node that a call waits for has to be readable.
func TestUnreadableNodeEndsTheWaitBehindIt(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		admin, p := z.Raw(t), z.Path(t)
		suite.MakePath(t, admin, p)
		a := zksync.NewMutex(z.Dial(t, digest("a")), p, zksync.WithACL(may("a", zk.PermAll)...))
		b := zksync.NewMutex(z.Dial(t, digest("b")), p, zksync.WithACL(may("b", zk.PermAll)...))
		h, err := a.Hold(suite.Context(t))
		suite.Must(t, err)
		suite.IsError(t, b.LockContext(suite.Context(t)), zk.ErrNoAuth, zksync.ErrNoAuth)
		suite.InLine(t, admin, p, 1)
		suite.Must(t, h.Release(suite.Context(t)))
		suite.LockAndUnlock(t, b)
	})
}

// A client that may delete below the path can take the lock away, whatever the access
// list of the lock's own node says.
func TestPermissionToDeleteIsThatOfThePath(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		stranger, p := z.Raw(t), z.Path(t)
		suite.MakePath(t, stranger, p)
		h, err := zksync.NewMutex(z.Dial(t, digest("a")), p, zksync.WithACL(may("a", zk.PermAll)...)).Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, stranger.Delete(h.Node(), -1))
		<-h.Context(suite.Context(t)).Done()
		if !errors.Is(h.Err(), zksync.ErrLost) {
			t.Error(h.Err())
		}
	})
}

// certificate makes a key and a certificate signed by parent, or by itself, and
// writes both into one PEM file.
func certificate(t *testing.T, file, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	suite.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"zksync"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: parent == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, by := template, any(key)
	if parent != nil {
		signer, by = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, by)
	suite.Must(t, err)
	leaf, err := x509.ParseCertificate(der)
	suite.Must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	suite.Must(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if parent != nil {
		text = append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), text...)
	}
	suite.Must(t, os.WriteFile(file, text, 0o600))
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// A client's certificate is its identity: the access list names the subject.
func TestCertificateIsAnIdentity(t *testing.T) {
	suite.Long(t)
	t.Parallel()
	suite.NeedReal(t, suite.StartReal())
	dir := t.TempDir()
	trusted, own := filepath.Join(dir, "trusted.pem"), filepath.Join(dir, "server.pem")
	ca := certificate(t, trusted, "authority", nil)
	certificate(t, own, "server", ca)
	// The port takes both, because the ensemble asks its servers in clear text
	// whether they are up.
	e := ensemble.Run(t, 1, ensemble.WithConfig(map[string]string{
		"serverCnxnFactory":        "org.apache.zookeeper.server.NettyServerCnxnFactory",
		"client.portUnification":   "true",
		"authProvider.x509":        "org.apache.zookeeper.server.auth.X509AuthenticationProvider", // by itself with secureClientPort only
		"ssl.keyStore.location":    own,
		"ssl.trustStore.location":  trusted,
		"ssl.hostnameVerification": "false", // of clients, which have no name to look up
	}))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	as := func(name string) zksync.DialOption {
		c := certificate(t, filepath.Join(dir, name+".pem"), name, ca)
		return zksync.WithTLS(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{*c}})
	}
	acl := zksync.WithACL(zk.ACL{Scheme: "x509", ID: "CN=orders,O=zksync", Perms: zk.PermAll})
	suite.LockAndUnlock(t, zksync.NewMutex(suite.DialTo(t, e.Addrs(), as("orders")), "/x509/lock", acl))
	noAuth(t, zksync.NewMutex(suite.DialTo(t, e.Addrs(), as("invoices")), "/x509/lock", acl))
	noAuth(t, zksync.NewMutex(suite.DialTo(t, e.Addrs()), "/x509/lock", acl)) // in clear text: nobody

	// Without a certificate there is no session: the servers ask for one by default.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, e.Addrs(), zksync.WithTLS(&tls.Config{RootCAs: roots}))
	if s != nil {
		s.Close()
		t.Error("a session without a certificate")
	}
	suite.IsError(t, err, context.DeadlineExceeded)
}
