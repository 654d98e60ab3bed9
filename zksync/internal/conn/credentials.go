package conn

import (
	"bytes"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// credential reads the body of a request that adds a credential.
func credential(body []byte) *Auth {
	d := wire.NewDecoder(body)
	d.Int32()
	a := &Auth{Scheme: d.String(), Cred: bytes.Clone(d.Buffer())}
	if d.Err() != nil {
		return nil
	}
	return a
}

// remember keeps a credential that the program has added to the client, once the
// server has accepted it. The client adds it again on each new connection.
func (l *link) remember(a *Auth) {
	if a == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := func(b Auth) bool { return b.Scheme == a.Scheme && bytes.Equal(b.Cred, a.Cred) }
	if !slices.ContainsFunc(l.creds, known) {
		l.creds = append(l.creds, *a)
	}
}

// credentials returns all credentials for a new connection.
func (l *link) credentials() []Auth {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.c.cfg.Auth, l.creds)
}
