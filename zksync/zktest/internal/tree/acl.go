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
// ZooKeeper rejects it. No entry is kept twice.
func (ids Identities) fix(list []wire.ACL) (kept []wire.ACL, ok bool) {
	for _, a := range list {
		if a.Scheme == "auth" {
			kept, ok = ids.fixAuth(kept, a.Perms)
		} else {
			kept, ok = addEntry(kept, a), validEntry(a)
		}
		if !ok {
			return nil, false
		}
	}
	return kept, len(kept) > 0
}

// fixAuth adds an entry for each digest of the client, in place of one of scheme
// "auth". It reports false if the client has none: an address does not
// authenticate.
func (ids Identities) fixAuth(kept []wire.ACL, perms int32) (_ []wire.ACL, ok bool) {
	for _, id := range ids {
		if id.Scheme == "digest" {
			kept, ok = addEntry(kept, wire.ACL{Perms: perms, Scheme: id.Scheme, ID: id.ID}), true
		}
	}
	return kept, ok
}

func addEntry(kept []wire.ACL, a wire.ACL) []wire.ACL {
	if slices.Contains(kept, a) {
		return kept
	}
	return append(kept, a)
}

// validEntry is for the entries of all schemes but "auth".
func validEntry(a wire.ACL) bool {
	switch a.Scheme {
	case "world":
		return a.ID == "anyone"
	case "ip":
		_, ok := parseNetwork(a.ID)
		return ok
	case "digest":
		return strings.Count(a.ID, ":") == 1 && !strings.HasSuffix(a.ID, ":")
	}
	return false
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
