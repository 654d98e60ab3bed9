package tree

import (
	"slices"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The digest of "user:pass", as ZooKeeper's DigestAuthenticationProvider makes it.
const digest = "user:smGaoVKd/cQkjm7b88GyorAUz20="

func proved(t *testing.T, ids Identities, scheme, proof string) Identities {
	t.Helper()
	ids, ok := ids.Prove(scheme, []byte(proof))
	if !ok {
		t.Fatalf("scheme %s is unknown", scheme)
	}
	return ids
}

func TestProve(t *testing.T) {
	ids := FromAddress("10.1.2.3")
	for range 2 { // once more changes nothing
		ids = proved(t, ids, "digest", "user:pass")
		ids = proved(t, ids, "ip", "")
	}
	if want := (Identities{{"ip", "10.1.2.3"}, {"digest", digest}}); !slices.Equal(ids, want) {
		t.Errorf("identities %v, want %v", ids, want)
	}
	for _, scheme := range []string{"sasl", "world", "x509", "super", ""} {
		if _, ok := ids.Prove(scheme, nil); ok {
			t.Errorf("scheme %q is known", scheme)
		}
	}
}

func TestMay(t *testing.T) {
	ids := proved(t, FromAddress("10.1.2.3"), "digest", "user:pass")
	for _, test := range []struct {
		scheme, id string
		want       bool
	}{
		{"world", "anyone", true},
		{"world", "someone", false},
		{"digest", digest, true},
		{"digest", "user:other", false},
		{"ip", "10.1.2.3", true},
		{"ip", "10.1.2.4", false},
		{"ip", "10.1.0.0/16", true},
		{"ip", "10.2.0.0/16", false},
		{"ip", "0.0.0.0/0", true},
		{"ip", "::/0", false},
		{"ip", "nonsense", false},
		{"sasl", digest, false},
	} {
		acl := []wire.ACL{{Perms: PermRead | PermWrite, Scheme: test.scheme, ID: test.id}}
		if got := ids.May(PermRead, acl); got != test.want {
			t.Errorf("%s:%s lets us read: %v", test.scheme, test.id, got)
		}
		if ids.May(PermDelete, acl) {
			t.Errorf("%s:%s lets us delete", test.scheme, test.id)
		}
		if got := ids.May(PermDelete|PermWrite, acl); got != test.want {
			t.Errorf("%s:%s lets us delete or write: %v", test.scheme, test.id, got)
		}
	}
	if !ids.May(PermAll, nil) {
		t.Error("a node without an ACL must be open")
	}
}

func TestFixACL(t *testing.T) {
	nobody := FromAddress("10.1.2.3")
	user := proved(t, nobody, "digest", "user:pass")
	acl := func(scheme, id string) wire.ACL { return wire.ACL{Perms: PermRead, Scheme: scheme, ID: id} }
	for _, test := range []struct {
		name string
		ids  Identities
		list []wire.ACL
		want []wire.ACL // nil: invalid
	}{
		{"nothing", user, nil, nil},
		{"twice", nobody, []wire.ACL{acl("world", "anyone"), acl("world", "anyone")}, []wire.ACL{acl("world", "anyone")}},
		{"world, no one", nobody, []wire.ACL{acl("world", "")}, nil},
		{"ip", nobody, []wire.ACL{acl("ip", "1.2.3.4/8")}, []wire.ACL{acl("ip", "1.2.3.4/8")}},
		{"ip, bits", nobody, []wire.ACL{acl("ip", "1.2.3.4/33")}, nil},
		{"ip, no address", nobody, []wire.ACL{acl("ip", "here")}, nil},
		{"digest", nobody, []wire.ACL{acl("digest", "a:b")}, []wire.ACL{acl("digest", "a:b")}},
		{"digest, no hash", nobody, []wire.ACL{acl("digest", "a:")}, nil},
		{"digest, two colons", nobody, []wire.ACL{acl("digest", "a:b:c")}, nil},
		{"auth", user, []wire.ACL{acl("auth", "")}, []wire.ACL{acl("digest", digest)}},
		{"auth and itself", user, []wire.ACL{acl("auth", ""), acl("digest", digest)}, []wire.ACL{acl("digest", digest), acl("digest", digest)}},
		{"auth twice", user, []wire.ACL{acl("auth", ""), acl("auth", "")}, []wire.ACL{acl("digest", digest)}},
		{"auth in two ways", user, []wire.ACL{acl("auth", ""), acl("auth", "x")}, []wire.ACL{acl("digest", digest), acl("digest", digest)}},
		{"auth without a digest", nobody, []wire.ACL{acl("auth", "")}, nil},
		{"another scheme", user, []wire.ACL{acl("world", "anyone"), acl("sasl", "me")}, nil},
	} {
		got, ok := Client{IDs: test.ids}.fix(test.list)
		if ok != (test.want != nil) || ok && !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", test.name, got, ok, test.want)
		}
	}
}

func TestInfos(t *testing.T) {
	ids := proved(t, proved(t, FromAddress("10.1.2.3"), "digest", "user:pass"), "digest", "")
	want := []wire.ClientInfo{{Scheme: "ip", User: "10.1.2.3"}, {Scheme: "digest", User: "user"}, {Scheme: "digest"}}
	if got := ids.Infos(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A client that may not change an ACL sees no digests in it.
func TestShownACL(t *testing.T) {
	nobody := FromAddress("10.1.2.3")
	user := proved(t, nobody, "digest", "user:pass")
	acl := []wire.ACL{{Perms: PermAll, Scheme: "digest", ID: digest}, {Perms: PermRead, Scheme: "world", ID: "anyone"}}
	if got := user.Shown(acl); !slices.Equal(got, acl) {
		t.Errorf("the owner sees %v", got)
	}
	want := []wire.ACL{{Perms: PermAll, Scheme: "digest", ID: "user:x"}, acl[1]}
	if got := nobody.Shown(acl); !slices.Equal(got, want) {
		t.Errorf("others see %v, want %v", got, want)
	}
	if acl[0].ID != digest {
		t.Error("the node's own ACL was changed")
	}
}

// Clients that have proved a name by SASL.
func TestSASLIdentity(t *testing.T) {
	nobody := FromAddress("10.1.2.3")
	bob, super := nobody.Add(Identity{"sasl", "bob"}), nobody.Add(Identity{"sasl", "super"})
	if again := bob.Add(Identity{"sasl", "bob"}); !slices.Equal(again, bob) {
		t.Errorf("proved twice: %v", again)
	}
	acl := func(scheme, id string) []wire.ACL { return []wire.ACL{{Perms: PermRead, Scheme: scheme, ID: id}} }
	for _, test := range []struct {
		ids  Identities
		acl  []wire.ACL
		want bool
	}{
		{bob, acl("sasl", "bob"), true}, {bob, acl("sasl", "eve"), false}, {bob, acl("digest", "bob"), false},
		{super, acl("sasl", "bob"), true}, {super, acl("digest", "bob:x"), false}, {nobody, acl("sasl", "bob"), false},
	} {
		if got := test.ids.May(PermRead, test.acl); got != test.want {
			t.Errorf("%v may read by %v: %t", test.ids, test.acl, got)
		}
	}
	if got, ok := (Client{IDs: bob}).fix(acl("auth", "")); !ok || !slices.Equal(got, acl("sasl", "bob")) {
		t.Errorf("auth: %v, %t", got, ok)
	}
	for id, want := range map[string]bool{"": true, "bob": true, "a@b": true, "a/b@c": true, "a/b/c": true, "@": true,
		"a@b@c": false, "a/b/c@d": false, "a@b/c": false} {
		if _, ok := (Client{IDs: nobody, SASL: true}).fix(acl("sasl", id)); ok != want {
			t.Errorf("%q is valid: %t", id, ok)
		}
		if _, ok := (Client{IDs: nobody}).fix(acl("sasl", id)); ok {
			t.Errorf("%q is valid without SASL", id)
		}
	}
}
