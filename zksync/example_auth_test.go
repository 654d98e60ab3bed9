package zksync_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// An administrator makes a node below which one user may make locks. The user's
// program makes them there; another user's can't.
func ExampleWithAuth() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	admin, err := zksync.Dial(ctx, exampleServers(), zksync.WithAuth("digest", []byte("admin:sesame")))
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()
	acl := append(zk.DigestACL(zk.PermAll, "admin", "sesame"),
		zk.DigestACL(zk.PermCreate, "billing", "mellon")...)
	if _, err := admin.Conn().Create("/billing", nil, 0, acl); err != nil {
		log.Fatal(err)
	}

	// Each program authenticates as its user, and lets only that user touch
	// what it makes.
	lock := func(user, password string) error {
		s, err := zksync.Dial(ctx, exampleServers(),
			zksync.WithAuth("digest", []byte(user+":"+password)),
			zksync.WithLockDefaults(zksync.WithACL(zk.DigestACL(zk.PermAll, user, password)...)))
		if err != nil {
			return err
		}
		defer s.Close()
		return zksync.NewMutex(s, "/billing/invoices").Do(ctx, func(context.Context, *zksync.Hold) error { return nil })
	}
	fmt.Println(lock("billing", "mellon"))
	fmt.Println(errors.Is(lock("billing", "guess"), zksync.ErrNoAuth)) // no wrong password, but another user
	fmt.Println(errors.Is(lock("shipping", "melon"), zksync.ErrNoAuth))
	// Output:
	// <nil>
	// true
	// true
}

// TLS keeps the password secret on its way, and proves who the server is.
func ExampleWithTLS() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// A server's secure port, and a certificate to know it by. Real programs
	// read the certificate of their authority from a file.
	addr, certificate, stop := securePort()
	defer stop()
	roots := x509.NewCertPool()
	roots.AddCert(certificate)

	s, err := zksync.Dial(ctx, []string{addr},
		zksync.WithTLS(&tls.Config{RootCAs: roots}),
		zksync.WithAuth("digest", []byte("payroll:secret")),
		zksync.WithLockDefaults(zksync.WithACL(zk.DigestACL(zk.PermAll, "payroll", "secret")...)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	h, err := zksync.NewMutex(s, "/payroll").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	list, _, err := s.Conn().GetACL(h.Node())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list), list[0].Scheme, list[0].Perms == zk.PermAll)
	fmt.Println(h.Release(ctx))
	// Output:
	// 1 digest true
	// <nil>
}

// securePort serves TLS before the examples' server, with a certificate made for
// it.
func securePort() (addr string, certificate *x509.Certificate, stop func()) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	if certificate, err = x509.ParseCertificate(der); err != nil {
		log.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		log.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := suite.ExampleServer().Dial("tcp", "", 0)
			if err != nil {
				in.Close()
				continue
			}
			relay := func(to, from net.Conn) {
				defer to.Close() // ends the other way, too
				io.Copy(to, from)
			}
			all.Go(func() { relay(out, in) })
			all.Go(func() { relay(in, out) })
		}
	})
	return l.Addr().String(), certificate, func() { l.Close(); all.Wait() }
}
