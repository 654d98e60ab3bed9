package zksync_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Payload of a lock node: at most 256 bytes, whatever the texts.
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
					if err := json.Unmarshal(data, &info); err != nil || len(data) > 256 {
						t.Fatalf("%d bytes, %v: %s", len(data), err, data)
					}
					if info.V != 1 || info.PID != os.Getpid() || len(info.ID) > 40 || tt.id != "" && info.ID != cut(tt.id) {
						t.Errorf("%s", data)
					}
					if (info.Owner == nil) != tt.owner.IsZero() {
						t.Errorf("owner: %s", data)
					}
					if tt.name == "identity" && (info.Owner.Name != "order 7" || info.Host != cut(host)) {
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

// cut is a text as a node holds it, as far as it is plain.
func cut(text string) string { return text[:min(len(text), 40)] }
