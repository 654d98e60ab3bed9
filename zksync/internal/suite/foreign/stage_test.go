//go:build unix

package foreign

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// stage has the embedded servers of a foreign suite. A command asks it on a socket to be
// a server, and ends that server with the end of its connection, as a killed process
// ends its own.
type stage struct {
	delay time.Duration  // of each frame
	wg    sync.WaitGroup // a goroutine a command

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	shows  map[string]*show // the latest ones, by the name of the ensemble
}

// show is an ensemble of servers. Its tree outlives its members' processes, as files do.
type show struct {
	srv  *zktest.Server
	dirs []string // the data directories of the members
	runs []bool
}

// openStage opens a stage that the test closes, and returns its socket. Each frame of
// its servers arrives later by the delay.
func openStage(t *testing.T, delay time.Duration) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stage") // the path of a socket must be short
	suite.Must(t, err)
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	suite.Must(t, err)
	s := &stage{delay: delay, conns: make(map[net.Conn]struct{}), shows: make(map[string]*show)}
	s.wg.Go(func() { s.accept(l) })
	t.Cleanup(func() {
		l.Close()
		s.close()
		os.RemoveAll(dir)
	})
	return socket
}

func (s *stage) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			conn.Close()
		} else {
			s.conns[conn] = struct{}{}
			s.wg.Go(func() { s.serve(conn) })
		}
		s.mu.Unlock()
	}
}

func (s *stage) close() {
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	for _, sh := range s.shows {
		sh.srv.Close()
	}
}

// serve is one server, from the order to the end of the connection.
func (s *stage) serve(conn net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		conn.Close()
	}()
	var o order
	if json.NewDecoder(conn).Decode(&o) != nil {
		return
	}
	c, err := readConfig(o.Config)
	if err != nil {
		fmt.Fprintln(conn, err)
		return
	}
	sh, err := s.enter(c, o)
	if err != nil {
		fmt.Fprintln(conn, err)
		return
	}
	_, _ = io.Copy(io.Discard, conn)
	s.leave(sh, c.index())
}

// enter starts a member.
func (s *stage) enter(c config, o order) (*show, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, i, dir := c.ensemble(), c.index(), c.lines["dataDir"]
	sh := s.shows[name]
	if sh != nil && sh.dirs[i] != "" && sh.dirs[i] != dir {
		sh.srv.Close() // an earlier one with the same ports, whose files are gone
		sh = nil
	}
	if sh == nil {
		sh = &show{srv: zktest.New(c.options(o.Flags)...), dirs: make([]string, c.size()), runs: make([]bool, c.size())}
		for range c.size() - 1 {
			sh.srv.AddMember()
		}
		sh.srv.Delay(s.delay)
		sh.srv.Member(c.size() - 1).Lead() // as of servers without a history
		s.shows[name] = sh
	}
	m := sh.srv.Member(i)
	if sh.dirs[i] == "" {
		if err := m.Listen("127.0.0.1:" + c.lines["clientPort"]); err != nil {
			return nil, err
		}
	}
	m.Accept()
	had := sh.quorum()
	sh.dirs[i], sh.runs[i] = dir, true
	if !had && sh.quorum() {
		sh.srv.RegainQuorum()
	} else if !had {
		sh.srv.LoseQuorum()
	}
	return sh, nil
}

// leave ends a member, as the end of its process does.
func (s *stage) leave(sh *show, i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := sh.srv.Member(i)
	sh.runs[i] = false
	m.Refuse()
	m.DisconnectAll()
	switch {
	case !sh.quorum():
		sh.srv.LoseQuorum()
	case sh.srv.Leader() == m:
		sh.elect()
	}
}

// elect makes the server with the highest number the leader.
func (sh *show) elect() {
	for i, runs := range slices.Backward(sh.runs) {
		if runs {
			sh.srv.Member(i).Lead()
			return
		}
	}
}

// quorum reports whether more than half of the servers run.
func (sh *show) quorum() bool {
	n := 0
	for _, runs := range sh.runs {
		if runs {
			n++
		}
	}
	return 2*n > len(sh.runs)
}
