package zktest

import (
	"crypto/sha1" // what the digest scheme is made of
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

const (
	permRead   int32 = 1
	permWrite  int32 = 2
	permCreate int32 = 4
	permDelete int32 = 8
	permAdmin  int32 = 16
	permAll    int32 = 31
)

// identity is who a connection is known to be, under one scheme.
type identity struct{ scheme, id string }

// may reports whether a connection has one of the permissions.
func (c *conn) may(perms int32, acl []wire.ACL) bool {
	if len(acl) == 0 {
		return true
	}
	for _, a := range acl {
		if a.Perms&perms == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID == "anyone" {
			return true
		}
		for _, id := range c.ids {
			if id.scheme == a.Scheme && id.matches(a.ID) {
				return true
			}
		}
	}
	return false
}

func (id identity) matches(want string) bool {
	if id.scheme != "ip" {
		return id.id == want
	}
	network, ok := parseNetwork(want)
	addr, err := netip.ParseAddr(id.id)
	return ok && err == nil && network.Contains(addr)
}

// parseNetwork reads "10.1.2.3" or "10.1.0.0/16".
func parseNetwork(s string) (netip.Prefix, bool) {
	host, bits, cut := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}, false
	}
	n := addr.BitLen()
	if cut {
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > addr.BitLen() {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(addr, n), true
}

// fixACL returns the ACL to be kept for one that was asked for, or false.
func (c *conn) fixACL(list []wire.ACL) ([]wire.ACL, bool) {
	var out []wire.ACL
	add := func(a wire.ACL) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range list {
		ok := false
		switch a.Scheme {
		case "world":
			ok = a.ID == "anyone"
		case "ip":
			_, ok = parseNetwork(a.ID)
		case "digest":
			ok = strings.Count(a.ID, ":") == 1 && !strings.HasSuffix(a.ID, ":")
		case "auth":
			for _, id := range c.ids {
				if id.scheme == "digest" { // an address proves nobody's identity
					ok = true
					add(wire.ACL{Perms: a.Perms, Scheme: id.scheme, ID: id.id})
				}
			}
			if ok {
				continue
			}
		}
		if !ok {
			return nil, false
		}
		add(a)
	}
	return out, len(out) > 0
}

// auth adds an identity to a connection, or reports that the scheme is unknown.
func (c *conn) auth(scheme string, proof []byte) bool {
	id := identity{scheme: scheme}
	switch scheme {
	case "digest":
		user, _, _ := strings.Cut(string(proof), ":")
		sum := sha1.Sum(proof)
		id.id = user + ":" + base64.StdEncoding.EncodeToString(sum[:])
	case "ip":
		id.id = c.ip
	default:
		return false
	}
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
	return true
}

// shownACL is what a connection gets to see: without the right to change it, no
// digests.
func (c *conn) shownACL(acl []wire.ACL) []wire.ACL {
	if c.may(permAdmin, acl) {
		return acl
	}
	out := slices.Clone(acl)
	for i, a := range out {
		if user, _, ok := strings.Cut(a.ID, ":"); ok && a.Scheme == "digest" {
			out[i].ID = user + ":x"
		}
	}
	return out
}
