// Command example shows the trace of a lock: two processes want it, the second
// waits for the first, and its span has a link to that of the first.
//
//	go run ./cmd/zksync/example          draws the spans of both processes
//	go run ./cmd/zksync/example -json    prints them, as OpenTelemetry's exporter does
//
// It has a ZooKeeper of its own, unless -servers names another.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// roleEnv makes the program one of the two processes.
const roleEnv = "ZKSYNC_TRACING_EXAMPLE"

// ready is what a process says when it works under the lock. Everything else
// that it prints are spans.
const ready = "ready"

func main() {
	log.SetFlags(0)
	servers := flag.String("servers", "", "ZooKeeper, as `host:port,...` (default: one inside the example)")
	raw := flag.Bool("json", false, "print the spans instead of drawing them")
	flag.Parse()
	if name := os.Getenv(roleEnv); name != "" {
		if err := work(context.Background(), name, strings.Split(*servers, ","), os.Stdout); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		return
	}
	if *servers == "" {
		srv := zktest.New()
		defer srv.Close()
		*servers = srv.Addr()
	}
	lines, err := both(*servers)
	if err != nil {
		log.Fatal(err)
	}
	if *raw {
		fmt.Print(strings.Join(lines, ""))
		return
	}
	spans, err := parse(lines)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(draw(spans))
}

// both runs the two processes, the second once the first has the lock, and
// returns the spans they print, as lines of JSON.
func both(servers string) (lines []string, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	errs := make(chan error, 2)
	for _, name := range []string{"first", "second"} {
		works := make(chan struct{})
		cmd, out, err := start(name, servers)
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			collect(out, sync.OnceFunc(func() { close(works) }), func(line string) {
				mu.Lock()
				lines = append(lines, line)
				mu.Unlock()
			})
			errs <- cmd.Wait()
		})
		if name == "first" {
			<-works
		}
	}
	for range 2 {
		if e := <-errs; e != nil {
			err = e
		}
	}
	return lines, err
}

// collect reads the output of a process until it ends. It calls add for each line with
// a span, and works when the process has the lock, at the latest when it ends.
func collect(out io.Reader, works func(), add func(line string)) {
	defer works()
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		switch {
		case err != nil:
			return // it has ended
		case line == ready+"\n":
			works()
		default:
			add(line)
		}
	}
}

func start(name, servers string) (*exec.Cmd, io.Reader, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(exe, "-servers", servers)
	cmd.Env = append(os.Environ(), roleEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, out, cmd.Start()
}

func parse(lines []string) (spans []span, err error) {
	for _, l := range lines {
		var s span
		if err := json.Unmarshal([]byte(l), &s); err != nil {
			return nil, fmt.Errorf("%w: %s", err, l)
		}
		spans = append(spans, s)
	}
	return spans, nil
}
