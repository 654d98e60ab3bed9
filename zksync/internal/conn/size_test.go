package conn

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// The size of each request is known exactly before it is sent. With a limit of that size
// the request is sent, and with one byte less it is not.
func TestSizesAreThoseOnTheWire(t *testing.T) {
	list := []zk.ACL{{Perms: zk.PermAll, Scheme: "digest", ID: "me:secret"}, {Perms: zk.PermRead, Scheme: "world", ID: "anyone"}}
	for name, call := range map[string]func(c *Conn) error{
		"Create":       func(c *Conn) error { _, _, err := c.Create([]string{"/one"}, []byte("data"), 0, list); return err },
		"CreateNoData": func(c *Conn) error { _, _, err := c.Create([]string{"/one"}, nil, 0, list); return err },
		"CreateSeveral": func(c *Conn) error {
			_, _, err := c.Create([]string{"/one", "/another"}, []byte("data"), zk.FlagEphemeral|zk.FlagSequence, list)
			return err
		},
		"CreateBeside": func(c *Conn) error { _, err := c.CreateBeside("/node", "/one", []byte("data"), list); return err },
		"CreateParent": func(c *Conn) error { return c.CreateParent("/one", list) },
		"Delete":       func(c *Conn) error { _, err := c.Delete("/node"); return err },
		"DeleteAll":    func(c *Conn) error { _, err := c.DeleteAll([]string{"/node", "/another"}); return err },
		"SetAt":        func(c *Conn) error { _, _, err := c.SetAt("/node", []byte("data"), -1); return err },
		"SetAll": func(c *Conn) error {
			_, _, err := c.SetAll([]string{"/node", "/another"}, [][]byte{[]byte("data"), []byte("more")}, []int32{-1, -1})
			return err
		},
		"Replace":  func(c *Conn) error { _, err := c.Replace("/node", -1, "/one", []byte("data"), list); return err },
		"Children": func(c *Conn) error { _, _, err := c.Children("/node"); return err },
		"Stat":     func(c *Conn) error { _, _, err := c.Stat("/node"); return err },
		"Get":      func(c *Conn) error { _, _, err := c.Get("/node"); return err },
		"Check":    func(c *Conn) error { _, _, err := c.Check("/node", "/none"); return err },
		"Watch":    func(c *Conn) error { _, err := c.Watch("/node"); return err },
	} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			c := f.open(t)
			f.do(func() { f.nodes["/node"] = &node{} })
			var size *SizeError
			if err := call(c); errors.As(err, &size) {
				t.Fatal(err)
			}
			sent := len(f.requests)
			real := f.requests[sent-1].size
			f.do(func() { clear(f.nodes); f.nodes["/"], f.nodes["/node"] = &node{}, &node{} })
			c.watches.drop()
			c.limit = real
			if err := call(c); errors.As(err, &size) {
				t.Errorf("%d bytes on the wire: %v", real, err)
			}
			f.do(func() { clear(f.nodes); f.nodes["/"], f.nodes["/node"] = &node{}, &node{} })
			c.watches.drop()
			sent, c.limit = len(f.requests), real-1
			if err := call(c); !errors.As(err, &size) || size.Size != real || size.Limit != real-1 || Classify(err) != Answered {
				t.Errorf("%d bytes on the wire: %v", real, err)
			}
			if len(f.requests) != sent {
				t.Error("it was sent")
			}
			c.limit = clientLimit
		})
	}
}

// The client can encode the largest request, however many operations it has. An
// operation that begins at the very end of the client's buffer would end the process.
func TestLargestTransactions(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		for parts := 2; parts < 40; parts++ {
			ops := creates(make([]string, parts), nil, 0, acl)
			ops[0].(*zk.CreateRequest).Path = strings.Repeat("x", clientLimit-sizeHeader-sizeMulti(ops))
			if _, _, err := c.multi(ops...); Classify(err) != Answered {
				t.Fatalf("%d parts: %v", parts, err)
			}
			f.do(func() {
				if last := f.requests[len(f.requests)-1]; last.size != clientLimit {
					t.Errorf("%d parts: %d bytes", parts, last.size)
				}
			})
		}
	})
}
