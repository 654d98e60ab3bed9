package zksync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Queue is the line at a path as Inspect saw it. It is a plain value.
type Queue struct {
	Path  string     // as it was given
	Nodes []LockNode // in order
	Other []string   // names of children that are no lock nodes, which no lock heeds by default

	// Suspects are those of Other that look like the lock nodes of another recipe:
	// ephemeral, with a number at the end. A lock with WithForeignPrefix may heed
	// them; Inspect does not know the option. Inspect examines only the first 100
	// children with a number, in the order of their names; InspectTree and Queues examine none.
	Suspects []string
}

// LockNode is one node in line. The texts come from the program that made the node:
// don't trust them. A call on a Mutex with WithKazooName has two nodes; the second one
// shows as BlockedBy the first. Of a node that the session may not read, only what its name
// says is known, and the texts are missing: Since is zero then if the servers refuse that,
// too (from ZooKeeper 3.8.4 on). It is a plain value; unknown fields are zero.
type LockNode struct {
	Node     string // its full path, as Session.Break and Revoke take it
	Mode     Mode   // ModeMutex, ModeWrite, ModeRead or ModePermit
	Form     Form   // the library that makes such names
	Sequence int64  // ZooKeeper's number, which makes the order
	Weight   int64  // of a permit
	Limit    int64  // of its semaphore

	Held      bool   // it is this node's turn
	BlockedBy string // else the full path of the node it waits for, or of the last before it that matters

	Identity    string // WithIdentity; of Curator's and kazoo's nodes the data, if it is a short text
	Host        string
	PID         int
	OwnerID     string
	OwnerName   string
	TraceParent string
	Revoked     bool // somebody has asked for the lock

	Session int64     // that owns the node; 0: none, so that it stays until somebody deletes it (see Session.Break)
	Since   time.Time // in line, by the server's clock
	Fence   int64     // the zxid of its creation
	Version int32     // of its data, which grows with each write to it
}

// Form is the form of a lock node's name: it shows which library made the node.
// Later versions may know more forms.
type Form string

// The forms.
const (
	FormZKSync  Form = "zksync"  // this library
	FormCurator Form = "curator" // Curator
	FormKazoo   Form = "kazoo"   // kazoo
	FormZKLock  Form = "zk.Lock" // go-zookeeper's Lock
	FormOther   Form = "other"   // another recipe
)

// newLockNode returns what the name of a node says. full is its path.
func newLockNode(full string, name znode.Name) LockNode {
	return LockNode{
		Node: full, Mode: modeOf(name.Kind), Form: Form(name.Form.String()),
		Sequence: name.Seq, Weight: name.Weight, Limit: name.Limit,
	}
}

// read takes over what a read of the node has shown.
func (n *LockNode) read(data []byte, stat *zk.Stat) {
	n.Session, n.Since, n.Fence, n.Version = stat.EphemeralOwner, time.UnixMilli(stat.Ctime), stat.Czxid, stat.Version
	n.Revoked = znode.IsRevoke(data)
	n.publishes(data)
}

// publishes takes over whom the data of the node names.
func (n *LockNode) publishes(data []byte) {
	switch i, ours := znode.DecodeInfo(data); {
	case ours:
		n.Identity, n.Host, n.PID = i.Identity, i.Host, i.PID
		n.OwnerID, n.OwnerName, n.TraceParent = i.OwnerID, i.OwnerName, i.TraceParent
	case n.Form == FormCurator, n.Form == FormKazoo:
		n.Identity = znode.Label(data)
	}
}

// atOnce is how many nodes Inspect reads at a time.
const atOnce = 32

// Inspect returns the queue at a lock's path. It lists the path and reads each node
// and each suspect. The queue is empty if nobody stands there, or if the path does
// not exist. Inspect sets no watch and disturbs nobody. Its result may be out of date:
// a node that went away while Inspect looked is left out. A call that waits behind
// another call of its own session may have no node yet; then it does not show. The
// error is an *Error.
func (s *Session) Inspect(ctx context.Context, path string) (Queue, error) {
	s.check()
	q := Queue{Path: path}
	full, err := s.fullPath(path)
	if err == nil {
		q.Nodes, q.Other, err = s.inspect(ctx, make(gate, atOnce), full)
	}
	if err == nil {
		q.Suspects, err = s.suspects(ctx, full, q.Other)
	}
	if err != nil {
		return Queue{}, &Error{Op: "inspect", Path: path, Err: err}
	}
	return q, nil
}

// fullRoot does the same as fullPath for a path below which queues are looked for. "/" is
// all that the session can lock.
func (s *Session) fullRoot(root string) (string, error) {
	if root == "/" {
		return cmp.Or(s.cfg.chroot, "/"), nil
	}
	return s.fullPath(root)
}

func (s *Session) fullPath(path string) (string, error) {
	full := s.cfg.chroot + path
	for _, p := range []string{path, full} {
		if err := znode.ValidPath(p); err != nil {
			return "", fmt.Errorf("%w: %w", ErrInvalidPath, err)
		}
	}
	return full, nil
}

// ask repeats a request that changes nothing until it is answered. If ctx ends first, the
// request may go on: it must not write what the caller reads. See answered.
func (s *Session) ask(ctx context.Context, f func() error) error {
	ctx, done := s.during(ctx)
	defer done()
	for p := (queue.Pause{}); ; p.Wait(ctx) {
		if err := s.alive(); err != nil {
			return err
		}
		if _, err := s.conn.Await(ctx); err != nil {
			return s.mapErr(ctx, err)
		}
		err := await(ctx, f)
		switch {
		case errors.As(err, new(*conn.SizeError)):
			return s.mapErr(ctx, err)
		case err == nil || conn.Classify(err) == conn.Answered:
			return refusal(err)
		case ctx.Err() != nil || errors.Is(err, conn.ErrClosed):
			return s.mapErr(ctx, err)
		}
	}
}

// answered is ask for a request with a result. If ctx ends first, the result is dropped.
func answered[T any](ctx context.Context, s *Session, request func() (T, error)) (T, error) {
	results := make(chan T, 1)
	err := s.ask(ctx, func() error {
		r, err := request()
		if err == nil {
			results <- r
		}
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return <-results, nil
}

func (s *Session) inspect(ctx context.Context, g gate, full string) (nodes []LockNode, other []string, err error) {
	names, err := answered(ctx, s, func() ([]string, error) {
		names, _, err := s.conn.Children(full)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var line []znode.Name
	for _, n := range names {
		if name, ok := znode.Parse(n); ok {
			line = append(line, name)
		} else {
			other = append(other, n)
		}
	}
	nodes, err = s.read(ctx, g, full, line)
	return nodes, other, err
}

// read reads the nodes of a line, and fills in which node waits for which. It changes
// line.
func (s *Session) read(ctx context.Context, g gate, full string, line []znode.Name) ([]LockNode, error) {
	znode.Sort(line)
	nodes := make([]LockNode, len(line))
	errs := forEach(g, len(line), func(i int) (err error) {
		nodes[i], err = s.node(ctx, full, line[i])
		return err
	})
	there := 0
	for i, err := range errs {
		switch {
		case err == nil:
			nodes[there], line[there] = nodes[i], line[i]
			there++
		case !errors.Is(err, zk.ErrNoNode):
			return nil, err
		}
	}
	nodes = nodes[:there]
	for i, blocker := range queue.Blockers(line[:there]) {
		if blocker < 0 {
			nodes[i].Held = true
		} else {
			nodes[i].BlockedBy = nodes[blocker].Node
		}
	}
	return nodes, nil
}

// gate bounds what goes on at one time to its capacity.
type gate chan struct{}

// forEach calls f with the numbers below n, as many of them at a time as g lets in.
func forEach(g gate, n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		g <- struct{}{}
		wg.Go(func() {
			defer func() { <-g }()
			errs[i] = f(i)
		})
	}
	wg.Wait()
	return errs
}

func (s *Session) node(ctx context.Context, full string, name znode.Name) (LockNode, error) {
	n := newLockNode(path.Join(full, name.Raw), name)
	c, err := s.look(ctx, n.Node)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return n, nil // the name says enough for the order
	case err != nil:
		return LockNode{}, err
	}
	n.read(c.data, c.stat)
	return n, nil
}

type content struct {
	data []byte
	stat *zk.Stat
}

// look reads a node, without its data if the session may not read that. From ZooKeeper
// 3.8.4 and 3.9.2 on, the session may then not read its Stat either.
func (s *Session) look(ctx context.Context, node string) (content, error) {
	c, err := answered(ctx, s, func() (c content, err error) {
		c.data, c.stat, err = s.conn.Get(node)
		return c, err
	})
	if !errors.Is(err, zk.ErrNoAuth) {
		return c, err
	}
	return answered(ctx, s, func() (c content, err error) {
		c.stat, _, err = s.conn.Stat(node)
		return c, err
	})
}

func modeOf(k znode.Kind) Mode {
	switch k {
	case znode.Write:
		return ModeWrite
	case znode.Read:
		return ModeRead
	case znode.Permit:
		return ModePermit
	}
	return ModeMutex
}

var errNotLockNode = errors.New("not the path of a lock node")
