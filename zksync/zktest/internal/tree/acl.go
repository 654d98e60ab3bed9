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

// super is the identity of a user who may do everything.
var super = Identity{Scheme: "super"}

// WithSuper returns the identities with that of the super user, if digest, in the form
// "super:" and a hash, is one of them.
func (ids Identities) WithSuper(digest string) Identities {
	if slices.Contains(ids, Identity{"digest", digest}) {
		return ids.Add(super)
	}
	return ids
}

// FromAddress returns the identities of a connection from an IP address that has
// proved no other.
func FromAddress(ip string) Identities { return Identities{{"ip", ip}} }

// May reports whether an ACL grants one of the permissions.
func (ids Identities) May(perms int32, acl []wire.ACL) bool {
	if len(acl) == 0 || slices.Contains(ids, super) {
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
	switch id.Scheme {
	case "sasl": // whose super is no super user, but one of all who have proved a name
		return id.ID == want || id.ID == "super"
	case "ip":
		return id.near(want)
	}
	return id.ID == want
}

// near reports whether an address is in a network.
func (id Identity) near(want string) bool {
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

// fix returns the ACL that a node keeps when the client asks for list, or false if
// ZooKeeper rejects it. An entry counts once, however often the client names it. Those
// that entries of scheme "auth" stand for are not compared with others.
func (c Client) fix(list []wire.ACL) (kept []wire.ACL, ok bool) {
	for i, a := range list {
		switch {
		case slices.Contains(list[:i], a):
			continue
		case a.Scheme == "auth":
			kept, ok = c.IDs.fixAuth(kept, a.Perms)
		default:
			kept, ok = append(kept, a), validEntry(a) || c.SASL && validName(a)
		}
		if !ok {
			return nil, false
		}
	}
	return kept, len(kept) > 0
}

// fixAuth adds an entry for each identity that the client has proved, in place of one of
// scheme "auth". It reports false if there is none: an address does not authenticate.
func (ids Identities) fixAuth(kept []wire.ACL, perms int32) (_ []wire.ACL, ok bool) {
	for _, id := range ids {
		if id.Scheme == "digest" || id.Scheme == "sasl" {
			kept, ok = append(kept, wire.ACL{Perms: perms, Scheme: id.Scheme, ID: id.ID}), true
		}
	}
	return kept, ok
}

// validEntry is for the entries of all schemes but "auth" and "sasl".
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

// validName reports whether an entry names a client by scheme "sasl". ZooKeeper takes what
// may be a name of Kerberos: "name", or with one "@", "name@realm" or "name/host@realm".
func validName(a wire.ACL) bool {
	name, realm, cut := strings.Cut(a.ID, "@")
	return a.Scheme == "sasl" && (!cut || strings.Count(name, "/") <= 1 && !strings.ContainsAny(realm, "@/"))
}

// Add returns the identities and one more.
func (ids Identities) Add(id Identity) Identities {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// Prove returns the identities of a client that has proved one more, or false if
// the scheme is unknown. The address is known from the start.
func (ids Identities) Prove(scheme string, proof []byte) (Identities, bool) {
	switch scheme {
	case "ip":
		return ids, true
	case "digest":
		if proof == nil {
			return ids, false
		}
		user, _, _ := strings.Cut(string(proof), ":")
		sum := sha1.Sum(proof)
		id := Identity{scheme, user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
		return ids.Add(id), true
	}
	return ids, false
}

// Infos returns the identities as the client is told of them: without secrets.
func (ids Identities) Infos() []wire.ClientInfo {
	list := make([]wire.ClientInfo, len(ids))
	for i, id := range ids {
		list[i] = wire.ClientInfo{Scheme: id.Scheme, User: id.ID}
		if id.Scheme == "digest" {
			list[i].User, _, _ = strings.Cut(id.ID, ":")
		}
	}
	return list
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
