package dynamic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Config is a configuration. The zero value has no servers. Copies share Servers, which
// must not be changed.
type Config struct {
	Servers []Entry // in the order in which ZooKeeper writes them
	Version int64   // the zxid of the transaction that made it
}

// Entry is a server with its id. It is a plain value.
type Entry struct {
	ID int64
	Server
}

// Find returns the server of an id, and whether there is one.
func (c Config) Find(id int64) (Server, bool) {
	for _, e := range c.Servers {
		if e.ID == id {
			return e.Server, true
		}
	}
	return Server{}, false
}

// String returns the configuration as it stands in the node "/zookeeper/config".
func (c Config) String() string {
	var b strings.Builder
	for _, e := range c.Servers {
		fmt.Fprintf(&b, "server.%d=%s\n", e.ID, e.Server)
	}
	fmt.Fprintf(&b, "version=%x", c.Version)
	return b.String()
}

// With returns the configuration as if it had been read with one more server.
func (c Config) With(id int64, s Server) Config {
	t := newTable()
	for _, e := range c.Servers {
		t.put(e.ID, e.Server)
	}
	t.put(id, s)
	c.Servers = t.entries()
	return c
}

// HasQuorum reports whether most of the servers that vote are up.
func (c Config) HasQuorum(up func(id int64) bool) bool {
	all, good := 0, 0
	for _, e := range c.Servers {
		if e.Observer {
			continue
		}
		all++
		if up(e.ID) {
			good++
		}
	}
	return 2*good > all
}

// votes reports whether there is a server that votes.
func (c Config) votes() bool {
	for _, s := range c.Servers {
		if !s.Observer {
			return true
		}
	}
	return false
}

// Change returns the configuration that a request to add and to remove servers asks
// for, or the error that ZooKeeper answers. A server that joins replaces the one of
// its id.
func (c Config) Change(joining, leaving string) (Config, wire.Code) {
	t := copyOf(c.Servers)
	for _, text := range fields(leaving, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return c, wire.CodeMarshallingError
		}
		t.remove(id)
	}
	for _, text := range fields(joining, ",") {
		parts := fields(text, "=")
		if len(parts) != 2 {
			return c, wire.CodeBadArguments
		}
		id, code := parseID(parts[0])
		if code != wire.CodeOK {
			return c, code
		}
		s, code := parseServer(parts[1])
		if code == wire.CodeOK && s.Client == "" {
			code = wire.CodeBadArguments
		}
		if code != wire.CodeOK {
			return c, code
		}
		t.remove(id)
		t.put(id, s)
	}
	next := Config{Servers: t.entries()}
	if !next.votes() {
		return c, wire.CodeBadArguments
	}
	return next, wire.CodeOK
}

// Replace returns the configuration of a list of all servers, or the error that
// ZooKeeper answers. Groups and weights are not known.
func Replace(members string) (Config, wire.Code) {
	var next Config
	t := newTable()
	for _, p := range properties(strings.ReplaceAll(members, ",", "\n")) {
		if p.key == "version" {
			if _, err := strconv.ParseInt(p.value, 16, 64); err != nil {
				return next, wire.CodeMarshallingError
			}
			continue
		}
		if !strings.HasPrefix(p.key, "server.") {
			return next, wire.CodeBadArguments
		}
		id, code := parseID(p.key)
		if code != wire.CodeOK {
			return next, code
		}
		s, code := parseServer(p.value)
		if code != wire.CodeOK {
			return next, code
		}
		t.put(id, s)
	}
	next.Servers = t.entries()
	if !next.votes() {
		return next, wire.CodeMarshallingError
	}
	return next, wire.CodeOK
}

// parseID reads the number after the last dot of "server.1".
func parseID(key string) (int64, wire.Code) {
	id, err := strconv.ParseInt(key[strings.LastIndexByte(key, '.')+1:], 10, 64)
	if err != nil {
		return 0, wire.CodeMarshallingError
	}
	return id, wire.CodeOK
}

// fields splits a list, without the space around its items and without empty ones.
func fields(list, separator string) []string {
	var out []string
	for s := range strings.SplitSeq(list, separator) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
