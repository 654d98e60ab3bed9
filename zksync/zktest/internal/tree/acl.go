package tree

import (
	"crypto/sha1" // of the digest scheme
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The permissions of an ACL.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// Identity names a client under one scheme. It is a plain value.
type Identity struct{ Scheme, ID string }

// Identities are all identities of a connection. It is a plain value; copies
// share the elements.
type Identities []Identity

// FromAddress returns the identities of a connection from an IP address that has
// proved no other.
func FromAddress(ip string) Identities { return Identities{{"ip", ip}} }

// May reports whether an ACL grants one of the permissions.
func (ids Identities) May(perms int32, acl []wire.ACL) bool {
	if len(acl) == 0 {
		return true
	}
	return slices.ContainsFunc(acl, func(a wire.ACL) bool {
		return a.Perms&perms != 0 && ids.are(a.Scheme, a.ID)
	})
}

// are reports whether an entry of an ACL is about one of the identities.
func (ids Identities) are(scheme, id string) bool {
	if scheme == "world" && id == "anyone" {
		return true
	}
	return slices.ContainsFunc(ids, func(own Identity) bool { return own.Scheme == scheme && own.matches(id) })
}

func (id Identity) matches(want string) bool {
	if id.Scheme != "ip" {
		return id.ID == want
	}
	network, ok := parseNetwork(want)
	addr, err := netip.ParseAddr(id.ID)
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

// fix returns the ACL that a node keeps when a client asks for list, or false if
// ZooKeeper rejects it. An entry of scheme "auth" becomes one for each digest of
// the client, and no entry is kept twice.
func (ids Identities) fix(list []wire.ACL) ([]wire.ACL, bool) {
	var out []wire.ACL
	for _, a := range list {
		fixed := ids.fixEntry(a)
		if len(fixed) == 0 {
			return nil, false
		}
		for _, f := range fixed {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out, len(out) > 0
}

// fixEntry returns what is kept for one entry; nothing means that it is invalid.
func (ids Identities) fixEntry(a wire.ACL) (kept []wire.ACL) {
	ok := false
	switch a.Scheme {
	case "world":
		ok = a.ID == "anyone"
	case "ip":
		_, ok = parseNetwork(a.ID)
	case "digest":
		ok = strings.Count(a.ID, ":") == 1 && !strings.HasSuffix(a.ID, ":")
	case "auth":
		for _, id := range ids {
			if id.Scheme == "digest" { // an address does not authenticate
				kept = append(kept, wire.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
			}
		}
	}
	if ok {
		kept = append(kept, a)
	}
	return kept
}

// Prove returns the identities of a client that has proved one more, or false if
// the scheme is unknown. The address is known from the start.
func (ids Identities) Prove(scheme string, proof []byte) (Identities, bool) {
	switch scheme {
	case "ip":
		return ids, true
	case "digest":
		user, _, _ := strings.Cut(string(proof), ":")
		sum := sha1.Sum(proof)
		id := Identity{scheme, user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return ids, true
	}
	return ids, false
}

// Shown returns what a client sees of an ACL: without the right to change it, no
// digests.
func (ids Identities) Shown(acl []wire.ACL) []wire.ACL {
	if ids.May(PermAdmin, acl) {
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
