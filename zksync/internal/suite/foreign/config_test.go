//go:build unix

package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// config is a server's zoo.cfg, with what goes with it.
type config struct {
	lines map[string]string
	peers []string // the ids of all servers of the ensemble, in order; none: it is alone
	id    string   // this one's
}

func readConfig(path string) (config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return config{}, err
	}
	c := config{lines: make(map[string]string)}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		c.lines[key] = value
		if id, ok := strings.CutPrefix(key, "server."); ok {
			c.peers = append(c.peers, id)
		}
	}
	slices.Sort(c.peers)
	id, err := os.ReadFile(filepath.Join(c.lines["dataDir"], "myid"))
	c.id = strings.TrimSpace(string(id))
	if len(c.peers) > 0 && (err != nil || !slices.Contains(c.peers, c.id)) {
		return config{}, fmt.Errorf("%s: id %q is none of %v: %v", path, c.id, c.peers, err)
	}
	return c, nil
}

// ensemble names the ensemble that the server belongs to.
func (c config) ensemble() string {
	if len(c.peers) == 0 {
		return c.lines["dataDir"]
	}
	var all []string
	for _, id := range c.peers {
		all = append(all, c.lines["server."+id])
	}
	return strings.Join(all, " ")
}

// index is the server's place among the members.
func (c config) index() int { return max(0, slices.Index(c.peers, c.id)) }

// size is how many servers vote.
func (c config) size() int { return max(1, len(c.peers)) }

func (c config) millis(key string) time.Duration {
	n, err := strconv.Atoi(c.lines[key])
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

var (
	reapFlag = regexp.MustCompile(`^-Dznode\.container\.checkIntervalMs=(\d+)$`)
	jaasFlag = regexp.MustCompile(`^-Djava\.security\.auth\.login\.config=(.+)$`)
	jaasUser = regexp.MustCompile(`\buser_(\w+)="([^"]*)"`)
)

// options sets a server up as its configuration says.
func (c config) options(flags []string) []zktest.Option {
	opts := []zktest.Option{
		zktest.WithTick(c.millis("tickTime")),
		zktest.WithSessionLimits(c.millis("minSessionTimeout"), c.millis("maxSessionTimeout")),
		zktest.WithFourLetterWords(strings.Split(c.lines["4lw.commands.whitelist"], ",")...),
	}
	if c.lines["reconfigEnabled"] == "true" {
		opts = append(opts, zktest.WithReconfig())
	}
	for _, flag := range flags {
		if _, digest, ok := strings.Cut(flag, "superDigest=super:"); ok {
			opts = append(opts, zktest.WithSuperDigest(digest))
		}
		if m := reapFlag.FindStringSubmatch(flag); m != nil {
			ms, _ := strconv.Atoi(m[1])
			opts = append(opts, zktest.WithReapInterval(time.Duration(ms)*time.Millisecond))
		}
		if m := jaasFlag.FindStringSubmatch(flag); m != nil {
			opts = append(opts, zktest.WithSASLUsers(saslUsers(m[1])))
		}
	}
	return opts
}

// saslUsers returns the users that a JAAS file names for the DigestLoginModule, nil if
// there are none.
func saslUsers(file string) map[string]string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // ZooKeeper has no SASL then
	}
	var users map[string]string
	for _, m := range jaasUser.FindAllStringSubmatch(string(text), -1) {
		if users == nil {
			users = make(map[string]string)
		}
		users[m[1]] = m[2]
	}
	return users
}
