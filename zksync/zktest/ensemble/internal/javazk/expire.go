package javazk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// expireTimeout bounds Expire, closeTimeout one try of it.
const (
	expireTimeout = 15 * time.Second
	closeTimeout  = 2 * time.Second
)

// Expire ends a session at once, as if its time had run out. It returns nil when the
// leader knows neither the session nor a node of it. It returns an error if there is
// no leader, or if the session still exists after expireTimeout.
func (e *Ensemble) Expire(sessionID int64) error {
	if sessionID == 0 {
		return errors.New("ensemble: expire of session 0, which is none")
	}
	var last error
	gone, _ := until(time.Now().Add(expireTimeout), func() (gone bool, _ error) {
		gone, last = e.expireOnce(sessionID)
		return gone, nil
	})
	if gone {
		return nil
	}
	if last == nil {
		last = errors.New("still there")
	}
	return fmt.Errorf("ensemble: expire of session %#x after %v: %w", uint64(sessionID), expireTimeout, last)
}

func (e *Ensemble) expireOnce(id int64) (gone bool, err error) {
	leader := e.Leader()
	if leader < 0 {
		return false, errors.New("no leader")
	}
	conn, err := net.DialTimeout("tcp", address(e.servers[leader].quorum), closeTimeout)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	deadline := time.Now().Add(closeTimeout)
	if err := conn.SetDeadline(deadline); err != nil {
		return false, err
	}
	if _, err := conn.Write(closeAsObserver(id)); err != nil {
		return false, err
	}
	// What the leader tells its new observer doesn't matter, but has to be
	// taken from it.
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(drained)
	}()
	defer func() {
		conn.Close()
		<-drained
	}()
	return until(deadline, func() (bool, error) {
		dump, err := e.fourLetter(leader, "dump", closeTimeout)
		if err != nil {
			return false, err
		}
		known, err := inDump(dump, id)
		return !known, err
	})
}

// The packets between servers that a new observer sends.
const (
	packetRequest      = 1
	packetAck          = 3
	packetObserverInfo = 16
	packetAckEpoch     = 18

	observerID      = 1 << 40 // no server's
	observerVersion = 0x10000
)

// closeAsObserver returns all that an observer sends to its leader, from its first
// word to the request of one of its clients to close a session. The leader then acts
// as if the session's time had run out: the transaction names no connection, so
// every server closes its connection of that session.
//
// A client would connect with the session's id and password, and close the session.
// That closes the owner's connection first. If the owner is back before the session
// is closed, it stays connected to a server that drops its requests without a sign.
func closeAsObserver(id int64) []byte {
	var info, epoch, request wire.Encoder
	info.Int64(observerID)
	info.Int32(observerVersion)
	epoch.Int32(0)
	request.Int64(id)
	request.Int32(0) // xid
	request.Int32(int32(wire.OpCloseSession))

	var out wire.Encoder
	for _, p := range []struct {
		kind int32
		data []byte
	}{
		{packetObserverInfo, info.Buf},
		{packetAckEpoch, epoch.Buf},
		{packetAck, nil}, // of what has not been read
		{packetRequest, request.Buf},
	} {
		out.Int32(p.kind)
		out.Int64(0) // zxid: it has nothing yet
		out.Buffer(p.data)
		out.Buf = binary.BigEndian.AppendUint32(out.Buf, 1<<32-1) // who asks: a null vector
	}
	return out.Buf
}
