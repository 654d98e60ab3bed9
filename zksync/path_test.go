package zksync_test

import (
	"path"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestPath(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, root := z.Dial(t), z.Path(t)
		if got := zksync.Path("/", "a"); got != "/a" {
			t.Error(got)
		}
		seen := make(map[string]string)
		for _, name := range []string{
			"order-7", "", ".", "..", "a/b", "a%2Fb", "%", "a b", "\x00", "\xff\xfe", "é", "𝄞", "/", "//", "zookeeper",
			strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("/", 5000),
		} {
			p := zksync.Path(root, name)
			if before, dup := seen[p]; dup {
				t.Errorf("%q and %q have one path", before, name)
			}
			seen[p] = name
			if path.Dir(p) != root || path.Clean(p) != p {
				t.Errorf("%q gives %q", name, p)
			}
			suite.LockAndUnlock(t, zksync.NewMutex(s, p)) // ZooKeeper takes it
		}
	})
}
