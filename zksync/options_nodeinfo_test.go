package zksync_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Payload of a lock node: at most 512 bytes, whatever the texts.
func TestNodeInfo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		long := strings.Repeat(`"é\`, 200)
		host, _ := os.Hostname()
		for _, tt := range []struct {
			name  string
			opts  []zksync.DialOption
			owner zksync.Owner
			id    string
		}{
			{"default", nil, zksync.Owner{}, fmt.Sprintf("%s:%d", host, os.Getpid())},
			{"identity", []zksync.DialOption{zksync.WithIdentity("pod-3")}, zksync.NewOwner("order 7"), "pod-3"},
			{"long", []zksync.DialOption{zksync.WithIdentity(long)}, zksync.NewOwner(long), ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s, p := z.Dial(t, tt.opts...), z.Path(t)
				m := zksync.NewMutex(s, p)
				for _, call := range suite.Calls {
					release, err := call.Take(zksync.WithOwner(suite.Context(t), tt.owner), m)
					suite.Must(t, err)
					names := suite.Children(t, z.Raw(t), p)
					if len(names) != 1 {
						t.Fatal(names)
					}
					data, _, err := z.Raw(t).Get(p + "/" + names[0])
					suite.Must(t, err)
					var info struct {
						V     int
						ID    string
						Host  string
						PID   int
						Owner *struct{ ID, Name string }
					}
					if err := json.Unmarshal(data, &info); err != nil || len(data) > 512 {
						t.Fatalf("%d bytes, %v: %s", len(data), err, data)
					}
					if info.V != 1 || info.PID != os.Getpid() || len(info.ID) > 128 || tt.id != "" && info.ID != tail(tt.id, 128) {
						t.Errorf("%s", data)
					}
					if (info.Owner == nil) != tt.owner.IsZero() {
						t.Errorf("owner: %s", data)
					}
					if tt.name == "identity" && (info.Owner.Name != "order 7" || info.Host != tail(host, 64)) {
						t.Errorf("%s", data)
					}
					suite.Must(t, release(suite.Context(t)))
				}
				suite.AtRest(t, s)
			})
		}
		t.Run("without", func(t *testing.T) {
			s, p := z.Dial(t, zksync.WithIdentity("pod-3"), zksync.WithoutNodeInfo()), z.Path(t)
			h, err := zksync.NewMutex(s, p).As(zksync.NewOwner("o")).Hold(suite.Context(t))
			suite.Must(t, err)
			data, _, err := z.Raw(t).Get(h.Node())
			if err != nil || len(data) != 0 {
				t.Errorf("%q, %v", data, err)
			}
			suite.Must(t, h.Release(suite.Context(t)))
		})
	})
}

// tail is a text as a node holds it, as far as it is plain.
func tail(text string, limit int) string { return text[max(len(text)-limit, 0):] }

// Two replicas whose long names differ at the end can be told apart, by whoever waits
// and by whoever looks.
func TestReplicasCanBeToldApart(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		pod := "billing-" + strings.Repeat("x", 150) + "-7d9c5b9c6f-"
		s := z.Dial(t, zksync.WithIdentity(pod+"abcde"))
		suite.Must(t, zksync.NewMutex(s, p).As(zksync.NewOwner(pod+"order-17")).LockContext(ctx))
		q, err := z.Dial(t).Inspect(ctx, p)
		suite.Must(t, err)
		n := q.Nodes[0]
		if len(n.Identity) != 128 || !strings.HasSuffix(n.Identity, "-abcde") || len(n.OwnerName) != 64 || !strings.HasSuffix(n.OwnerName, "-order-17") {
			t.Errorf("%+v", n)
		}
	}, suite.Smoke)
}

// A later version may publish longer texts than this one: they are shown whole.
func TestLongerPayloadIsRead(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, c := suite.Context(t), z.Path(t), z.Raw(t)
		id := strings.Repeat("i", 1000)
		suite.MakePath(t, c, p)
		node := suite.Plant(t, c, p+"/_c_80000000-0000-8000-8000-000000000001-lock-", fmt.Sprintf(`{"v":1,"id":%q,"more":[1]}`, id), zk.FlagEphemeral|zk.FlagSequence)
		s := z.Dial(t)
		suite.Must(t, s.Revoke(ctx, node))
		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		if n := q.Nodes[0]; n.Identity != id || !n.Revoked {
			t.Errorf("%+v", n)
		}
		if data, _, err := c.Get(node); err != nil || !strings.Contains(string(data), `"more":[1]`) {
			t.Errorf("%v: %s", err, data)
		}
	})
}
