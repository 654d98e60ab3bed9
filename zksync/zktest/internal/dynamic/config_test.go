package dynamic

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// FuzzConfig makes configurations of anything. What comes of it can be read again, and
// is the same then.
func FuzzConfig(f *testing.F) {
	f.Add("server.1=a:1:2;3,server.2=[::1]:1:2:observer;[::1]:3", "1", "server.3=b:1:2\n#x\nserver.4 c:1:2:participant;4\\\n5")
	f.Add("server.-3=a:1:2;3,server.256=b:1:2;3,server.1=c:1:2;[", " 1 ,2,x", "version=zz")
	f.Add("a=b=c", "9223372036854775807", "server.7=a:99999:1;\\")
	f.Fuzz(func(t *testing.T, joining, leaving, members string) {
		first, code := Replace(members)
		again(t, first, code)
		next, code := first.Change(joining, leaving)
		again(t, next, code)
		for _, e := range next.Servers {
			if s, ok := next.Find(e.ID); !ok || s != e.Server {
				t.Errorf("%d: %v", e.ID, s)
			}
		}
	})
}

func again(t *testing.T, c Config, code wire.Code) {
	if code != wire.CodeOK {
		return
	}
	ids := make(map[int64]Server)
	for _, e := range c.Servers {
		ids[e.ID] = e.Server
	}
	if len(ids) != len(c.Servers) || !c.votes() {
		t.Fatalf("%q", c.Servers)
	}
	c.Version = 255
	next, code := Replace(c.String())
	if code != wire.CodeOK || len(next.Servers) != len(ids) {
		// A name with odd characters is one that Java escapes nowhere either.
		for _, s := range ids {
			if !plain(s.Quorum) || !plain(s.Client) {
				return
			}
		}
		t.Fatalf("%q read again: %v, %q", c.String(), code, next.String())
	}
}

// plain reports whether a host and port have only what such names have.
func plain(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > ':') && r != '.' && r != '[' && r != ']' {
			return false
		}
	}
	return s == "" || s[0] != ':' && s[0] != '['
}

// The quorum of a configuration is of those that vote.
func TestHasQuorum(t *testing.T) {
	c, code := Replace("server.1=a:1:2,server.2=b:1:2,server.3=c:1:2,server.4=d:1:2:observer")
	if code != wire.CodeOK {
		t.Fatal(code)
	}
	for up, want := range map[int64]bool{0: false, 1: false, 2: true, 3: true} {
		if got := c.HasQuorum(func(id int64) bool { return id <= up || id == 4 }); got != want {
			t.Errorf("%d of 3 and the observer: %t", up, got)
		}
	}
}
