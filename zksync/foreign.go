package zksync

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// WithForeignPrefix makes a lock heed the nodes that another recipe makes in its
// path, in programs that don't use this library: nodes whose name is prefix and
// ZooKeeper's ten digits count as lock nodes of the given mode. The prefix "" stands
// for names that consist of digits only. Several such options add up.
//
// A Mutex takes prefixes of ModeMutex, an RWMutex those of ModeRead and ModeWrite. For
// a Mutex and an RWMutex with one path give them to WithLockDefaults, where all modes apply
// to both. With another mode, and on a Semaphore, every use of the lock fails with an *Error.
// It also fails without a prefix, with a prefix that ZooKeeper refuses in a node's
// name, with a prefix given for two modes, and with one that every lock heeds anyway.
//
// The option is only one half: the other program has to heed the nodes of this
// library. See "Sharing a path" in the package's documentation.
func WithForeignPrefix(mode Mode, prefixes ...string) LockOption {
	prefixes = slices.Clone(prefixes)
	return lockOptionFunc(func(c *lockConfig) error {
		f := znode.Foreign{}
		switch mode {
		case ModeMutex:
			f.Kind = znode.Exclusive
		case ModeWrite:
			f.Kind = znode.Write
		case ModeRead:
			f.Kind = znode.Read
		default:
			return fmt.Errorf("WithForeignPrefix(%q): want ModeMutex, ModeRead or ModeWrite", string(mode))
		}
		if len(prefixes) == 0 {
			return errors.New("WithForeignPrefix needs at least one prefix")
		}
		all := slices.Clone(c.Foreign)
		for _, f.Prefix = range prefixes {
			if err := f.Check(); err != nil {
				return fmt.Errorf("WithForeignPrefix: %w", err)
			}
			i, there := slices.BinarySearchFunc(all, f.Prefix, func(o znode.Foreign, p string) int { return cmp.Compare(o.Prefix, p) })
			switch {
			case !there:
				all = slices.Insert(all, i, f)
			case all[i].Kind != f.Kind:
				return fmt.Errorf("WithForeignPrefix: prefix %q of two modes", f.Prefix)
			}
			c.ownForeign = append(c.ownForeign, f)
		}
		c.Foreign = all
		return nil
	})
}

// heeds reports whether foreign nodes may be given to a lock of the kind itself.
func heeds(kind znode.Kind, f znode.Foreign) bool {
	if kind == znode.Read || kind == znode.Write {
		return f.Kind == znode.Read || f.Kind == znode.Write
	}
	return f.Kind == kind
}

// fits returns an error unless the lock's own options go with a lock of the kind. It leaves
// out defaults that don't.
func (c *lockConfig) fits(kind znode.Kind) error {
	switch {
	case c.ownStrict && kind != znode.Permit:
		return fmt.Errorf("WithStrictLimit does not go with a lock of mode %q: it is for a Semaphore", modeOf(kind))
	case c.ownKazoo && kind == znode.Permit:
		return fmt.Errorf("WithKazooName does not go with a lock of mode %q: it is for a Mutex", modeOf(kind))
	}
	if kind == znode.Permit {
		if c.ownLinger {
			return fmt.Errorf("WithLinger does not go with a lock of mode %q", modeOf(kind))
		}
		c.linger = 0
	}
	if c.linger > 0 && c.handoff == 0 {
		return errors.New("WithLinger does not go with WithHandoff(0): a lock that is kept skips its turn in ZooKeeper")
	}
	for _, f := range c.ownForeign {
		if !heeds(kind, f) {
			return fmt.Errorf("WithForeignPrefix: prefix %q of mode %q does not go with a lock of mode %q", f.Prefix, modeOf(f.Kind), modeOf(kind))
		}
	}
	return nil
}
