//go:build unix

package foreign

import (
	"bufio"
	"encoding/json"
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
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestKazoo runs the tests of kazoo. Each worker has three servers of its own.
func TestKazoo(t *testing.T) {
	in := needReal(t)
	python := findKazoo(t)
	known := listed(t, "kazoo")
	results := map[string]outcomes{}
	var wg sync.WaitGroup
	for _, kind := range chosen() {
		k := &kazoo{t: t, kind: kind, known: known, python: python, in: in, servers: serversOf(t, kind, in, kazooDelay), results: make(outcomes)}
		results[kind] = k.results
		wg.Go(k.run)
	}
	wg.Wait()
	compare(t, "kazoo", results)
}

// kazooVersion is the version whose tests the list is about.
const kazooVersion = "2.8.0"

// findKazoo returns the Python that has kazoo, its tests, and what those need.
func findKazoo(t *testing.T) string {
	t.Helper()
	const script = "import kazoo.tests, kazoo.version, pytest, mock, objgraph, gevent, eventlet, puresasl; print(kazoo.version.__version__)"
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(t.Context(), python, "-c", script).Output()
		if err != nil {
			continue
		}
		if version := strings.TrimSpace(string(out)); version != kazooVersion {
			suite.Tell("kazoo: NOT COMPARED, the list is for " + kazooVersion + ", and here is " + version)
			t.Skip("another version of kazoo")
		}
		return python
	}
	missing(t, "kazoo's tests", "python3-kazoo, python3-pytest, python3-mock, python3-objgraph, python3-gevent, python3-eventlet and python3-pure-sasl")
	return ""
}

// workersOf is how many processes share the tests on a kind of servers. Three Java
// processes belong to each worker on real ones.
var workersOf = map[string]int{"real": 2, "zktest": 2}

// kazooDelay makes an embedded server as fast as a real one: some tests of kazoo wait for
// ever if somebody else gets a lock before they have seen that it was free.
const kazooDelay = time.Millisecond / 2

// kazoo is one run of the tests of kazoo.
type kazoo struct {
	t       *testing.T
	kind    string
	known   map[string]entry
	python  string
	in      ensemble.Installation
	servers servers

	mu      sync.Mutex
	work    [][]string // tests that nobody has begun, those of a class together
	results outcomes
}

func (k *kazoo) run() {
	k.work = k.classes()
	for try := range tries {
		if try > 0 {
			k.work = k.failed()
		}
		var wg sync.WaitGroup
		for range min(workersOf[k.kind], len(k.work)) {
			wg.Go(k.worker)
		}
		wg.Wait()
	}
}

// classes are the tests that are asked for, class by class. Those that need servers
// with another configuration come last: a worker starts its servers anew for them.
func (k *kazoo) classes() [][]string {
	w := k.start()
	if w == nil {
		return nil
	}
	defer w.stop()
	var all, last [][]string
	class := func(name string) string { return name[:max(0, strings.LastIndex(name, "."))] }
	for tests := matching(k.t, w.tests); len(tests) > 0; {
		n := 1
		for n < len(tests) && class(tests[n]) == class(tests[0]) {
			n++
		}
		if strings.HasPrefix(tests[0], "test_sasl.") {
			last = append(last, tests[:n])
		} else {
			all = append(all, tests[:n])
		}
		tests = tests[n:]
	}
	return append(all, slices.Concat(last...))
}

// failed are the tests that have failed so far and should not.
func (k *kazoo) failed() [][]string {
	var again [][]string
	for _, name := range slices.Sorted(maps.Keys(k.results)) {
		if o := k.results[name]; !o.passed && !o.skipped && !k.known[name].failsOn(k.kind) {
			again = append(again, []string{name})
			k.t.Logf("%s fails on %s\n%s", name, k.kind, indent(o.said))
		}
	}
	return again
}

// next takes the class that is to be done next.
func (k *kazoo) next() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.work) == 0 {
		return nil
	}
	class := k.work[0]
	k.work = k.work[1:]
	return class
}

// worker runs tests until there are none. A process in which a test does not end is
// replaced.
func (k *kazoo) worker() {
	var w *worker
	for class := k.next(); len(class) > 0; class = k.next() {
		for _, test := range class {
			if w == nil {
				if w = k.start(); w == nil {
					return
				}
			}
			start := time.Now()
			o, err := w.do(test)
			o.took = time.Since(start)
			if err != nil {
				o.said = fmt.Sprintf("%v\n%s", err, w.end())
				w = nil
			}
			k.mu.Lock()
			k.results[test] = o
			k.mu.Unlock()
		}
	}
	if w != nil {
		w.stop()
	}
}

// worker is a process that runs tests of kazoo.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at its end
	tests []string
	log   string // its file, with where each thread is when a test takes long
}

// testPatience bounds the time of a test, on a machine that is busy.
const testPatience = 90 * time.Second

// start starts a worker, or fails the test and returns nil.
func (k *kazoo) start() *worker {
	w, err := k.spawn()
	for err == nil {
		var line string
		if line, err = w.next(); line == "ready" {
			return w
		}
		if test, ok := strings.CutPrefix(line, "test "); ok {
			w.tests = append(w.tests, test)
		}
	}
	if w != nil {
		err = fmt.Errorf("%w\n%s", err, w.end())
	}
	k.t.Errorf("no worker of kazoo: %v", err)
	return nil
}

// spawn starts the process of a worker.
func (k *kazoo) spawn() (*worker, error) {
	script, err := filepath.Abs(filepath.Join("testdata", "kazoo_worker.py"))
	if err != nil {
		return nil, err
	}
	dir := k.t.TempDir()
	w := &worker{cmd: exec.Command(k.python, script), lines: make(chan string, 1000), log: filepath.Join(dir, "log")}
	w.cmd.Dir = dir
	w.cmd.SysProcAttr = suite.DieWithParent()
	w.cmd.Env = append(k.servers.env[:len(k.servers.env):len(k.servers.env)], "PYTHONDONTWRITEBYTECODE=1",
		"ZOOKEEPER_VERSION=3.8.0", "ZOOKEEPER_CLASSPATH="+strings.Join(k.in.ClassPath, string(os.PathListSeparator)),
		"ZOOKEEPER_PORT_OFFSET="+strconv.Itoa(takePorts(k.t, 30)))
	log, err := os.Create(w.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	w.cmd.Stderr = log
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.read(out)
	return w, nil
}

func (w *worker) read(out io.Reader) {
	defer close(w.lines)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		w.lines <- lines.Text()
	}
}

// next returns the worker's next line.
func (w *worker) next() (string, error) {
	select {
	case line, ok := <-w.lines:
		if !ok {
			return "", errors.New("the process has ended")
		}
		return line, nil
	case <-time.After(testPatience):
		return "", fmt.Errorf("nothing after %v", testPatience)
	}
}

// do runs a test.
func (w *worker) do(test string) (outcome, error) {
	if _, err := fmt.Fprintln(w.in, test); err != nil {
		return outcome{}, err
	}
	line, err := w.next()
	if err != nil {
		return outcome{}, err
	}
	var r struct{ Outcome, Said string }
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return outcome{}, fmt.Errorf("%w: %q", err, line)
	}
	return outcome{passed: r.Outcome == "passed", skipped: r.Outcome == "skipped", said: r.Said}, nil
}

// stop lets the process end with its input, and its servers with it.
func (w *worker) stop() {
	w.in.Close()
	ended := make(chan struct{})
	go func() {
		for range w.lines {
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // a thread that a test has left
		_ = w.cmd.Process.Kill()
		<-ended
	}
	_ = w.cmd.Wait() // how it ends says nothing: failed tests are noted
}

// end kills the process, and returns the end of its log.
func (w *worker) end() string {
	_ = w.cmd.Process.Kill()
	w.stop()
	text, _ := os.ReadFile(w.log)
	return string(text[max(0, len(text)-6000):])
}
