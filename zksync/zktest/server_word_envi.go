package zktest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
)

// wordConf answers conf: how the member is set up. There are no directories, and no limit
// on the connections from one address.
func (c *conn) wordConf(b *bytes.Buffer) {
	cfg, m := &c.srv.cfg, c.member
	fmt.Fprintf(b, "clientPort=%d\nsecureClientPort=-1\n", m.clientPort())
	b.WriteString("dataDir=\ndataDirSize=0\ndataLogDir=\ndataLogSize=0\n")
	fmt.Fprintf(b, "tickTime=%d\nmaxClientCnxns=0\n", cfg.tick.Milliseconds())
	fmt.Fprintf(b, "minSessionTimeout=%d\nmaxSessionTimeout=%d\n", cfg.minLimit.Milliseconds(), cfg.maxLim.Milliseconds())
	id := 0
	if len(c.srv.members) > 1 {
		id = m.index + 1
	}
	fmt.Fprintf(b, "clientPortListenBacklog=-1\nserverId=%d\n", id)
}

// clientPort returns the number of a port that clients connect to, or -1.
func (m *Member) clientPort() int {
	if a, err := net.ResolveTCPAddr("tcp", m.addr); err == nil && m.addr != "" {
		return a.Port
	}
	for _, l := range m.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return a.Port
		}
	}
	return -1
}

// wordEnvi answers envi: this process, in the words of a Java program. What a Go program
// does not have is not available, for which ZooKeeper writes "<NA>", too.
func wordEnvi(b *bytes.Buffer) {
	const none = "<NA>"
	or := func(s string, err error) string {
		if err != nil || s == "" {
			return none
		}
		return s
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	mb := func(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }
	b.WriteString("Environment:\n")
	for _, e := range [][2]string{
		{"zookeeper.version", wordVersion},
		{"host.name", or(os.Hostname())},
		{"java.version", none},
		{"java.vendor", none},
		{"java.home", none},
		{"java.class.path", none},
		{"java.library.path", none},
		{"java.io.tmpdir", os.TempDir()},
		{"java.compiler", none},
		{"os.name", runtime.GOOS},
		{"os.arch", runtime.GOARCH},
		{"os.version", none},
		{"user.name", none},
		{"user.home", or(os.UserHomeDir())},
		{"user.dir", or(os.Getwd())},
		{"os.memory.free", mb(mem.HeapIdle)},
		{"os.memory.max", mb(uint64(debug.SetMemoryLimit(-1)))},
		{"os.memory.total", mb(mem.Sys)},
	} {
		fmt.Fprintf(b, "%s=%s\n", e[0], e[1])
	}
}
