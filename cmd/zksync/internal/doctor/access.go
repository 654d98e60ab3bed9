package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// prefix is how the names of the doctor's nodes begin.
const prefix = "zksync-doctor-"

func newName() string { return fmt.Sprintf("%s%08x", prefix, rand.Uint32()) }

// identity says whom the credentials name, without what proves it.
func (d *Doctor) identity() string {
	switch user, _, _ := bytes.Cut(d.Cred, []byte(":")); {
	case d.Scheme == "digest":
		return "digest:" + string(user)
	default:
		return d.Scheme
	}
}

// acl is that of the doctor's nodes: they are for these credentials, if there are any.
func (d *Doctor) acl() []zk.ACL {
	if d.Scheme != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

// exists reports whether a node exists. One that can't be looked at does.
func (d *Doctor) exists(ctx context.Context, conn *zk.Conn, node string) (bool, *zk.Stat, error) {
	var stat *zk.Stat
	found, err := call(ctx, d, func() (found bool, err error) {
		found, stat, err = conn.Exists(node)
		return found, err
	})
	if errors.Is(err, zk.ErrNoAuth) {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	return found, stat, nil
}

// tryPath tries out what the credentials may do. On the way it looks at the clock, and
// whether all servers show the same tree.
func (d *Doctor) tryPath(ctx context.Context, r *Report, sessions map[*Server]*zksync.Session, s *zksync.Session) error {
	conn := s.Conn()
	p := &Path{Path: d.Path, Nearest: d.Path, Identity: d.identity(), ACL: []string{}}
	for {
		found, _, err := d.exists(ctx, conn, p.Nearest)
		if err != nil {
			return err
		}
		if found || p.Nearest == "/" {
			break
		}
		p.Nearest = path.Dir(p.Nearest)
	}
	p.Exists = p.Nearest == p.Path
	r.Path = p
	acl, err := call(ctx, d, func() ([]zk.ACL, error) {
		acl, _, err := conn.GetACL(p.Nearest)
		return acl, err
	})
	if err == nil {
		p.ACL = describe(acl)
	}
	_, err = call(ctx, d, func() ([]string, error) {
		list, _, err := conn.Children(p.Nearest)
		return list, err
	})
	if p.Read, err = answer(err); err != nil {
		return err
	}
	return d.tryNode(ctx, r, sessions, conn)
}

// tryNode makes an ephemeral node, looks at it, and deletes it.
func (d *Doctor) tryNode(ctx context.Context, r *Report, sessions map[*Server]*zksync.Session, conn *zk.Conn) error {
	p := r.Path
	node := path.Join(p.Nearest, newName())
	began := time.Now()
	_, err := call(ctx, d, func() (string, error) { return conn.Create(node, nil, zk.FlagEphemeral, d.acl()) })
	took := time.Since(began)
	if errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		p.ephemeral, p.Create = true, No
		return nil
	}
	if p.Create, err = answer(err); err != nil || p.Create == No {
		return err
	}
	if _, stat, err := d.exists(ctx, conn, node); err == nil && stat != nil {
		made := time.UnixMilli(stat.Ctime)
		r.Clock = &Clock{Ahead: made.Sub(began.Add(took / 2)).Seconds(), Uncertainty: (took/2 + time.Millisecond).Seconds()}
	}
	d.compareTrees(ctx, r, sessions, node)
	_, err = call(ctx, d, func() (any, error) { return nil, conn.Delete(node, -1) })
	p.Delete, err = answer(err)
	return err
}

// compareTrees looks for a node on each server: if one does not show it, that server
// belongs to another ensemble.
func (d *Doctor) compareTrees(ctx context.Context, r *Report, sessions map[*Server]*zksync.Session, node string) {
	d.each(r.serving(), func(s *Server) {
		session := sessions[s]
		if session == nil {
			return
		}
		conn := session.Conn()
		if _, err := call(ctx, d, func() (string, error) { return conn.Sync(node) }); err != nil {
			return
		}
		if found, _, err := d.exists(ctx, conn, node); err == nil {
			s.SameTree = &found
		}
	})
}

// answer returns whether the error of a call lets it pass, or the error if it says
// neither.
func answer(err error) (Answer, error) {
	switch {
	case err == nil:
		return Yes, nil
	case errors.Is(err, zk.ErrNoAuth):
		return No, nil
	}
	return "", err
}

// describe returns the entries of an ACL as zkCli.sh shows them, without the digests of
// passwords.
func describe(acl []zk.ACL) []string {
	list := []string{}
	for _, a := range acl {
		id := a.ID
		if a.Scheme == "digest" {
			id, _, _ = strings.Cut(id, ":")
		}
		perms := ""
		for _, p := range []struct {
			bit    int32
			letter string
		}{{zk.PermCreate, "c"}, {zk.PermDelete, "d"}, {zk.PermRead, "r"}, {zk.PermWrite, "w"}, {zk.PermAdmin, "a"}} {
			if a.Perms&p.bit != 0 {
				perms += p.letter
			}
		}
		list = append(list, a.Scheme+":"+id+":"+perms)
	}
	return list
}
