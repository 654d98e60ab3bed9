package zktest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// server is one ZooKeeper of an ensemble. The first group of fields never changes,
// the second is guarded by Ensemble.mu.
type server struct {
	index    int // in the ensemble; ZooKeeper's own id is one more
	dir      string
	client   int // ports
	quorum   int
	election int

	proc   *process // nil before the first start
	paused bool
	cut    bool

	logStart int64 // where the log of its present life begins; of whoever launches it
}

func (s *server) logPath() string { return filepath.Join(s.dir, "server.log") }

// setUp picks the ports, makes the links and writes every file. What it has made
// when it fails is released by tearDown.
func (e *Ensemble) setUp(n int) error {
	quorum, election := make([]int, n), make([]int, n)
	for i := range n {
		s := &server{index: i, dir: filepath.Join(e.dir, "server-"+strconv.Itoa(i))}
		e.servers = append(e.servers, s)
		for _, port := range []*int{&s.client, &s.quorum, &s.election} {
			var err error
			if *port, err = e.config.pickPort(); err != nil {
				return err
			}
		}
		quorum[i], election[i] = s.quorum, s.election
	}
	var err error
	if e.links, err = newLinks(quorum, election); err != nil {
		return err
	}
	for _, s := range e.servers {
		if err := e.writeFiles(s); err != nil {
			return fmt.Errorf("zktest: files of server %d: %w", s.index, err)
		}
	}
	return nil
}

// tearDown undoes setUp, as far as that has come.
func (e *Ensemble) tearDown() error {
	e.links.close()
	for _, s := range e.servers {
		for _, port := range []int{s.client, s.quorum, s.election} {
			ports.release(port)
		}
	}
	return os.RemoveAll(e.dir)
}

func (e *Ensemble) writeFiles(s *server) error {
	data := filepath.Join(s.dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		filepath.Join(s.dir, "zoo.cfg"):     e.zooConfig(s, data),
		filepath.Join(s.dir, "logback.xml"): logbackConfig,
		filepath.Join(data, "myid"):         strconv.Itoa(s.index+1) + "\n",
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (e *Ensemble) zooConfig(s *server, data string) string {
	lines := maps.Clone(e.config.lines)
	lines["dataDir"] = data
	lines["clientPort"] = strconv.Itoa(s.client)
	lines["clientPortAddress"] = loopback
	// An only server is a quorum of one, which Expire needs and which is nearer
	// to production than the standalone mode.
	lines["standaloneEnabled"] = "false"
	for _, peer := range e.servers {
		quorum, election := address(peer.quorum), address(peer.election)
		if peer != s {
			l := e.links[[2]int{s.index, peer.index}]
			quorum, election = l.quorum.addr(), l.election.addr()
		}
		_, port, _ := strings.Cut(election, ":")
		lines["server."+strconv.Itoa(peer.index+1)] = quorum + ":" + port
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%s=%s\n", key, lines[key])
	}
	return b.String()
}

// logbackConfig sends the log of releases that bring logback to the output,
// which is the log file.
const logbackConfig = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %-5p [%t:%C{1}@%L] - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`

// command is the server's Java, set for a quick start and little memory.
func (e *Ensemble) command(s *server) *exec.Cmd {
	args := []string{
		"-Xms32m", "-Xmx128m", "-Xss512k",
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
		"-XX:-UsePerfData", // it leaves a file in /tmp when killed
		"-XX:ErrorFile=" + filepath.Join(s.dir, "crash.log"),
		"-Djava.io.tmpdir=" + s.dir,
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.awt.headless=true",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dlogback.configurationFile=" + filepath.Join(s.dir, "logback.xml"),
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
	}
	args = append(args, e.config.flags...)
	args = append(args,
		"-cp", strings.Join(e.installation.ClassPath, string(os.PathListSeparator)),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(s.dir, "zoo.cfg"))
	cmd := exec.Command(e.installation.Java, args...)
	cmd.Dir = s.dir
	return cmd
}

// launch starts the server's process and doesn't wait for more.
func (e *Ensemble) launch(s *server) error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("zktest: log of server %d: %w", s.index, err)
	}
	defer log.Close() // the process has its own
	if s.logStart, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("zktest: log of server %d: %w", s.index, err)
	}
	cmd := e.command(s)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := e.spawner.start(cmd)
	if err != nil {
		return fmt.Errorf("zktest: start of server %d: %w", s.index, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.proc, s.paused = p, false
	return nil
}

// failure makes an error of a server that did not come up: the end of its log,
// and errPortTaken if that is what the log complains of.
func (s *server) failure(cause error) error {
	if s.portTaken() {
		cause = errors.Join(cause, errPortTaken)
	}
	return fmt.Errorf("zktest: server %d: %w\n%s", s.index, cause, s.tail(15))
}

// portTaken reports whether the server has complained, since its last start, of
// a port that it could not open. Not every port makes it end.
func (s *server) portTaken() bool {
	log, err := os.Open(s.logPath())
	if err != nil {
		return false
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, s.logStart, 1<<20))
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{
		"BindException",
		"Address already in use",
		"failed to initialize any of the following sockets",
	}, func(sign string) bool { return strings.Contains(string(text), sign) })
}

// tail is the last lines of the server's log.
func (s *server) tail(n int) string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
