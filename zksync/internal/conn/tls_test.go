package conn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"
)

// certificate returns a certificate for a name, and a pool that trusts it.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TLS checks the certificate against the name in the list of servers. Dial fails with the
// reason if that is another name.
func TestTLS(t *testing.T) {
	cert, pool := certificate(t, "zk.example")
	for name, test := range map[string]struct {
		server string
		want   string // part of the error; empty: success
	}{
		"Right":     {"zk.example:2281", ""},
		"WrongName": {"other.example:2281", "not other.example"},
	} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			cfg := f.config()
			cfg.Servers = []string{test.server}
			cfg.TLS = &tls.Config{RootCAs: pool}
			f.cert = &cert
			ctx, cancel := context.WithTimeout(t.Context(), T)
			defer cancel()
			c, err := Dial(ctx, cfg)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := c.Check("/"); err != nil {
					t.Error(err)
				}
				f.end(c)
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			f.cut()
			f.wg.Wait()
		})
	}
}
