package demo

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// calls counts the calls of Write.
type calls int

func (c *calls) Write(b []byte) (int, error) { *c++; return len(b), nil }

// The pipe keeps together what one call writes.
func TestReportIsOneWrite(t *testing.T) {
	var n calls
	if err := (report{Who: "worker 1", What: waiting, N: 2, Text: "worker 2"}).write(&n); err != nil || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
}

func TestListen(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	want := []report{{Who: "worker 1", What: holding, Fence: 12}, {Text: "no report"}, {Who: "worker 2", What: gone, Text: "dead"}}
	var in bytes.Buffer
	for _, r := range want {
		if r.What == "" {
			in.WriteString(r.Text + "\n")
		} else if err := r.write(&in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(to, &in); err != nil {
		t.Fatal(err)
	}
	to.Close()
	d := &demo{reports: make(chan report, len(want))}
	d.listen(from)
	for _, r := range want {
		if got := <-d.reports; got != r {
			t.Errorf("%+v, want %+v", got, r)
		}
	}
}
