package zktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// expireTimeout bounds Expire, takeover one try of it.
const (
	expireTimeout   = 15 * time.Second
	takeoverTimeout = 2 * time.Second
)

// Expire ends a session at once, as if its time had run out: the client hears
// nothing of it before it has reconnected, and its ephemeral nodes are gone. It
// returns nil once the leader knows neither the session nor a node of it (a
// follower may lag by a moment), also when there was no such session. The error
// says that there is no leader, or that the session was still there after
// fifteen seconds.
//
// It takes the session over with a forged password and closes it. Clients may
// be in the way of that by reconnecting; then it tries again.
func (e *Ensemble) Expire(sessionID int64) error {
	if sessionID == 0 {
		return errors.New("zktest: expire of session 0, which is none")
	}
	var last error
	ok, _ := until(time.Now().Add(expireTimeout), func() (bool, error) {
		var gone bool
		gone, last = e.expireOnce(sessionID)
		return gone, nil
	})
	if ok {
		return nil
	}
	if last == nil {
		last = errors.New("still there")
	}
	return fmt.Errorf("zktest: expire of session %#x after %v: %w", uint64(sessionID), expireTimeout, last)
}

// expireOnce closes the session and reports whether the leader has forgotten it.
func (e *Ensemble) expireOnce(id int64) (gone bool, err error) {
	leader := e.Leader()
	if leader < 0 {
		return false, errors.New("no leader")
	}
	// Asked of the leader, which decides about sessions: a follower would have
	// to ask it, and might be cut off.
	if err := takeOver(address(e.servers[leader].client), id); err != nil {
		return false, err
	}
	dump, err := e.fourLetter(leader, "dump", takeoverTimeout)
	if err != nil {
		return false, err
	}
	known, err := inDump(dump, id)
	return !known, err
}

// takeOver connects as the session's owner and closes the session. Both go out
// in one segment, so that the owner has no time to come back in between.
func takeOver(addr string, id int64) error {
	conn, err := net.DialTimeout("tcp", addr, takeoverTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(takeoverTimeout)); err != nil {
		return err
	}
	connect := wire.ConnectRequest{Timeout: 10_000, SessionID: id, Password: sessionPassword(id)}
	var end wire.Encoder
	end.Int32(1) // xid
	end.Int32(int32(wire.OpCloseSession))
	msg := wire.AppendFrame(nil, connect.Append(nil))
	msg = wire.AppendFrame(msg, end.Buf)
	if _, err := conn.Write(msg); err != nil {
		return err
	}
	// The server closes the connection when it has closed the session, or
	// finds that there is none, with or without a reset. "dump" tells more.
	_, err = io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// inDump reports whether the answer to "dump" names the session, as one that
// lives or as the owner of a node. What follows about connections doesn't count:
// they end a moment later.
func inDump(dump string, id int64) (bool, error) {
	sessions, _, _ := strings.Cut(dump, "Connections dump")
	if !strings.Contains(sessions, "ephemeral") && !strings.Contains(sessions, "Ephemeral") {
		return false, fmt.Errorf("answer to dump: %q", strings.TrimSpace(dump))
	}
	return regexp.MatchString(fmt.Sprintf(`(?m)^\s*%#x:?\s*$`, uint64(id)), sessions)
}

// sessionPassword computes the password that servers give to a session: sixteen
// bytes of Java's java.util.Random, seeded with the session id and a constant of
// ZooKeeper's.
func sessionPassword(id int64) []byte {
	const (
		superSecret = 0xB3415C00
		multiplier  = 0x5DEECE66D
		increment   = 0xB
		mask        = 1<<48 - 1
	)
	seed := (uint64(id) ^ superSecret ^ multiplier) & mask
	var password []byte
	for len(password) < 16 {
		seed = (seed*multiplier + increment) & mask
		// nextBytes takes each number's bytes from the lowest up.
		password = binary.LittleEndian.AppendUint32(password, uint32(seed>>16))
	}
	return password
}
