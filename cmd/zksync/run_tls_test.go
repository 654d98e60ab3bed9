//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// pair is a certificate with its key, in memory and in PEM files.
type pair struct {
	cert              *x509.Certificate
	key               *ecdsa.PrivateKey
	certFile, keyFile string
}

func newPair(t *testing.T, dir, name string, parent *pair) *pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	p := &pair{key: key, certFile: filepath.Join(dir, name+".crt"), keyFile: filepath.Join(dir, name+".key")}
	signer, signerKey := template, key
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		signer, signerKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	if p.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		p.certFile: {Type: "CERTIFICATE", Bytes: der}, p.keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// tlsFront accepts TLS connections with a client certificate, as a ZooKeeper with a
// secure port does, and forwards them to target.
func tlsFront(t *testing.T, server, ca *pair, target string) (addr string) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{server.cert.Raw}, PrivateKey: server.key}},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer out.Close()
				all.Go(func() {
					defer in.Close()
					io.Copy(in, out)
				})
				io.Copy(out, in)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

func TestRunTLS(t *testing.T) {
	long(t)
	dir := t.TempDir()
	ca := newPair(t, dir, "authority", nil)
	addr := tlsFront(t, newPair(t, dir, "zookeeper.example", ca), ca, zookeeper(t).addr)
	us := newPair(t, dir, "client", ca)
	stranger := newPair(t, dir, "stranger", nil)
	for _, tt := range []struct {
		name, flags string
		want        int
	}{
		{"all", "--tls-ca " + ca.certFile + " --tls-cert " + us.certFile + " --tls-key " + us.keyFile + " --tls-server-name zookeeper.example", 0},
		{"no TLS", "", exit.Unavailable},
		{"no certificate", "--tls-ca " + ca.certFile + " --tls-server-name zookeeper.example", exit.Unavailable},
		{"a stranger's certificate", "--tls-ca " + ca.certFile + " --tls-cert " + stranger.certFile + " --tls-key " + stranger.keyFile + " --tls-server-name zookeeper.example", exit.Unavailable},
		{"another name", "--tls-ca " + ca.certFile + " --tls-cert " + us.certFile + " --tls-key " + us.keyFile, exit.Unavailable},
		{"another authority", "--tls-ca " + stranger.certFile + " --tls-cert " + us.certFile + " --tls-key " + us.keyFile + " --tls-server-name zookeeper.example", exit.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := append([]string{"--connect-timeout", "1s"}, strings.Fields(tt.flags)...)
			if tt.want == 0 {
				flags[1] = "20s"
			}
			p := newRunOn(t, addr, append(flags, lockPath(t), "--", "true")...).Start()
			p.WantCode(tt.want)
			if tt.want != 0 {
				p.Err.Await(t, "zksync: dial: ")
			}
		})
	}
}
