package javazk

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/relay"
)

// link leads from one server to another: one relay to the port where a leader hears
// its followers, and one to the port for elections.
type link struct {
	quorum, election *relay.Relay
}

func (l *link) relays() [2]*relay.Relay { return [2]*relay.Relay{l.quorum, l.election} }

// links joins servers with each other. Each server reaches the others through its
// own links, so that the traffic of any two can be stopped.
type links map[[2]int]*link // by the server that connects and the server that it reaches

// linkPatience is the time that a link waits for a server to open its port. A
// follower often comes before the leader that it has elected opens its port. Without
// a link its connection would be refused, and it would try again at once. But a link
// has accepted the connection. If the link closed it, the follower would go back to
// the election, while the leader waits for the follower for as long as initLimit.
const linkPatience = 3 * time.Second

// newLinks makes the links between servers that listen on these ports. After an
// error no link is left.
func newLinks(quorum, election []int) (links, error) {
	ls := make(links)
	fail := func(err error) (links, error) {
		ls.close()
		return nil, err
	}
	for from := range quorum {
		for to := range quorum {
			if from == to {
				continue
			}
			q, err := relay.New(address(quorum[to]), linkPatience, func() relay.Pump { return relay.Copy })
			if err != nil {
				return fail(err)
			}
			l := &link{quorum: q}
			ls[[2]int{from, to}] = l
			l.election, err = relay.New(address(election[to]), linkPatience, func() relay.Pump {
				return func(c *relay.Conn, d relay.Direction) error { return ls.copyElection(c, d, from, to) }
			})
			if err != nil {
				return fail(err)
			}
		}
	}
	return ls, nil
}

func (ls links) close() {
	for _, l := range ls {
		for _, r := range l.relays() {
			if r != nil {
				r.Close()
			}
		}
	}
}

// Versions of the message that opens an election connection, as unsigned
// numbers of -65536 and -65535. Releases before 3.5 send none.
const (
	electionV1 = 1<<64 - 65536
	electionV2 = 1<<64 - 65535
)

const maxElectionAddr = 4 << 10

// copyElection copies a connection for elections. The server that opens it sends the
// address where a server with a greater id can call it back. That address must be a
// link as well, or the two servers could get around a cut.
func (ls links) copyElection(c *relay.Conn, d relay.Direction, from, to int) error {
	if d == relay.ToClient {
		return relay.Copy(c, d)
	}
	client, _ := c.Ends(d)
	var head [20]byte // version, server id, length of the address
	n, err := io.ReadFull(client, head[:8])
	version := binary.BigEndian.Uint64(head[:])
	if err == nil && (version == electionV1 || version == electionV2) {
		if n, err = io.ReadFull(client, head[8:]); err == nil {
			return ls.callBack(c, head, from, to)
		}
		n += 8
	}
	if !c.Await(d) {
		return net.ErrClosed
	}
	if werr := c.Write(d, head[:n]); werr != nil {
		return werr
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	if err != nil {
		return err
	}
	return relay.Copy(c, d)
}

func (ls links) callBack(c *relay.Conn, head [20]byte, from, to int) error {
	size := binary.BigEndian.Uint32(head[16:])
	if size > maxElectionAddr {
		return fmt.Errorf("ensemble: election address of %d bytes", size)
	}
	client, _ := c.Ends(relay.ToServer)
	if _, err := io.CopyN(io.Discard, client, int64(size)); err != nil {
		return err
	}
	back := ls[[2]int{to, from}].election.Addr()
	msg := binary.BigEndian.AppendUint32(head[:16:16], uint32(len(back)))
	msg = append(msg, back...)
	if !c.Await(relay.ToServer) {
		return net.ErrClosed
	}
	if err := c.Write(relay.ToServer, msg); err != nil {
		return err
	}
	return relay.Copy(c, relay.ToServer)
}
