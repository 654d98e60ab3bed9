package javazk

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const fakeEnv = "JAVAZK_FAKE"

// fake is a process that is taken for a server. It reads its zoo.cfg, as
// ZooKeeper does, and answers four-letter words. "sleeps" only waits, and any
// other mode but "serves" is a complaint with which it ends.
func fake(how string) {
	switch how {
	case "serves":
		fakeServer(os.Args[len(os.Args)-1])
	case "sleeps":
		time.Sleep(time.Minute)
	default:
		fmt.Println(how)
		os.Exit(1)
	}
}

func fakeServer(config string) {
	text, err := os.ReadFile(config)
	if err != nil {
		panic(err)
	}
	lines := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		lines[key] = value
	}
	l, err := net.Listen("tcp", net.JoinHostPort(lines["clientPortAddress"], lines["clientPort"]))
	if err != nil {
		panic(err)
	}
	go fakeLeader(lines)
	fmt.Println("serves now")
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		word := make([]byte, 4)
		if _, err := io.ReadFull(conn, word); err == nil {
			io.WriteString(conn, fakeAnswer(string(word), lines))
		}
		conn.Close()
	}
}

// fakeLeader hears what followers say, and keeps it in the file "heard".
func fakeLeader(config map[string]string) {
	id, err := os.ReadFile(filepath.Join(config["dataDir"], "myid"))
	if err != nil {
		panic(err)
	}
	addr := config["server."+strings.TrimSpace(string(id))]
	l, err := net.Listen("tcp", addr[:strings.LastIndexByte(addr, ':')])
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		heard := make([]byte, len(closeAsObserver(1)))
		io.ReadFull(conn, heard)
		os.WriteFile("heard", heard, 0o644)
		io.Copy(io.Discard, conn)
		conn.Close()
	}
}

// fakeAnswer is what the file "answer-WORD" says, or what a healthy server says,
// of which the first leads.
func fakeAnswer(word string, config map[string]string) string {
	if text, err := os.ReadFile("answer-" + word); err == nil {
		return string(text)
	}
	switch word {
	case "ruok":
		return "imok"
	case "conf":
		return "dataDir=" + config["dataDir"] + "/version-2\n"
	case "srvr":
		id, _ := os.ReadFile(filepath.Join(config["dataDir"], "myid"))
		if strings.TrimSpace(string(id)) == "1" {
			return srvr("leader", 1)
		}
		return srvr("follower", 1)
	}
	return notServing + "\n"
}

// srvr is an answer to "srvr".
func srvr(mode string, epoch int64) string {
	return fmt.Sprintf("Zookeeper version: 3.8.0\nZxid: %#x\nMode: %s\nNode count: 5\n", epoch<<32+7, mode)
}

// startFake starts an ensemble of fakes.
func startFake(t *testing.T, n int) *Ensemble {
	t.Helper()
	t.Setenv(fakeEnv, "serves")
	e, err := New(t.TempDir(), n, DefaultConfig(), Installation{Java: os.Args[0]})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// answers has server i answer a word so from now on.
func answers(t *testing.T, e *Ensemble, i int, word, text string) {
	t.Helper()
	path := filepath.Join(e.servers[i].dir, "answer-"+word)
	must(t, os.WriteFile(path+".new", []byte(text), 0o644))
	must(t, os.Rename(path+".new", path))
}
