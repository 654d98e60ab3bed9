package printer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/internal/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrinter(t *testing.T) {
	for quiet, want := range map[bool]string{
		false: "zksync: error 1\nzksync: note 2\nraw\n",
		true:  "zksync: error 1\nraw\n",
	} {
		var out bytes.Buffer
		p := printer.New(&out, quiet)
		p.Errorf("error %d", 1)
		p.Notef("note %d", 2)
		fmt.Fprintln(p, "raw")
		p.Close()
		p.Errorf("after the end")
		p.Flush()
		p.Close()
		if got := out.String(); got != want {
			t.Errorf("quiet %v: printed %q, want %q", quiet, got, want)
		}
	}
}

// stuck is a pipe that nobody reads from until reading is closed.
type stuck struct {
	reading chan struct{}
	buf     bytes.Buffer
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.reading
	return s.buf.Write(b)
}

func (s *stuck) String() string { return s.buf.String() }

func TestPrinterDoesNotWaitForTheReader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &stuck{reading: make(chan struct{})}
		p := printer.New(w, false)
		start := time.Now()
		for i := range 1000 {
			p.Errorf("line %d", i)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("printing took %v", took)
		}
		p.Flush() // there is no room for its question
		p.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("flushing and closing took %v, want the second of Close", took)
		}
		close(w.reading)
		synctest.Wait()
		if got := w.String(); !strings.HasPrefix(got, "zksync: line 0\nzksync: line 1\n") || strings.Contains(got, "line 999") {
			t.Errorf("printed %q", got)
		}
	})
}

func TestPrinterFlush(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &stuck{reading: make(chan struct{})}
		p := printer.New(w, false)
		p.Errorf("line")
		start := time.Now()
		p.Flush()
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("a flush that nobody reads took %v", took)
		}
		close(w.reading)
		p.Flush()
		if took := time.Since(start); took != 100*time.Millisecond || w.String() != "zksync: line\n" {
			t.Errorf("after %v: %q", took, w.String())
		}
		p.Close()
	})
}
