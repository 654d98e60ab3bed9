package javazk

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config says how the servers of an ensemble are set up. The zero value is not
// usable: use [DefaultConfig]. Copies share what the fields refer to.
type Config struct {
	Lines    map[string]string // of zoo.cfg, by their keys
	Flags    []string          // of the Java virtual machine
	PickPort func() (int, error)
}

// DefaultConfig returns a configuration for a quick start, little memory and
// short session timeouts.
func DefaultConfig() Config {
	return Config{
		Lines: map[string]string{
			"maxClientCnxns":          "0",
			"admin.enableServer":      "false",
			"4lw.commands.whitelist":  "*",
			"autopurge.purgeInterval": "0",
			"preAllocSize":            "64", // KiB; the default writes 64 MiB of zeros a log file
			"forceSync":               "no", // the page cache outlives a killed process
			"initLimit":               "40",
			"syncLimit":               "12",
			"minSessionTimeout":       "500",
			"maxSessionTimeout":       "60000",
			"tickTime":                "250",
			"electionPortBindRetry":   "3",
		},
		Flags:    []string{"-Dzookeeper.extendedTypesEnabled=true"},
		PickPort: PickPort,
	}
}

// writeFiles writes all that a server reads when it starts.
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

// zooConfig returns the text of a server's zoo.cfg.
func (e *Ensemble) zooConfig(s *server, data string) string {
	lines := maps.Clone(e.config.Lines)
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
			quorum, election = l.quorum.Addr(), l.election.Addr()
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

// command returns the server's command line, for a quick start and little memory.
func (e *Ensemble) command(s *server) *exec.Cmd {
	args := []string{
		"-Xms32m", "-Xmx256m", "-Xss512k",
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
	args = append(args, e.config.Flags...)
	args = append(args,
		"-cp", strings.Join(e.installation.ClassPath, string(os.PathListSeparator)),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(s.dir, "zoo.cfg"))
	cmd := exec.Command(e.installation.Java, args...)
	cmd.Dir = s.dir
	return cmd
}
