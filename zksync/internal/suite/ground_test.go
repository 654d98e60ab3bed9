package suite

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

func TestMain(m *testing.M) { Main(m) }

// The ground notices a lock's node and a watch that a session has left.
func TestGroundNoticesWhatIsLeft(t *testing.T) {
	Virtual(t, func(t *testing.T, z *Ground) {
		s := z.Dial(t)
		m := zksync.NewMutex(s, z.Path(t))
		m.Lock()
		node := NodesOf(z.Server, s.ID())[0]
		if left := z.left(); left != node {
			t.Errorf("%q is left, want %s", left, node)
		}
		Must(t, m.UnlockContext(Context(t)))
		if left := z.left(); left != "" {
			t.Errorf("%s is left", left)
		}
		_, _, events, err := s.Conn().ExistsW("/x")
		Must(t, err)
		if left := z.left(); left != "/x" {
			t.Errorf("a watch on %q is left, want /x", left)
		}
		_, err = s.Conn().Create("/x", nil, 0, zk.WorldACL(zk.PermAll))
		Must(t, err)
		Receive(t, events)
	})
}

// A recorder notices a span without an end.
func TestRecorderNoticesAnOpenSpan(t *testing.T) {
	r := new(Recorder)
	tr := r.Tracer()
	ctx := tr.AcquireStart(t.Context(), zksync.AcquireInfo{})
	if len(r.open) != 1 {
		t.Errorf("open: %v", r.open)
	}
	tr.AcquireEnd(ctx, zksync.AcquireInfo{}, zksync.AcquireEndInfo{})
	r.Balanced(t)
}
