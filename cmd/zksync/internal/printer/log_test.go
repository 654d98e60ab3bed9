package printer_test

import (
	"bytes"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
)

func TestLogger(t *testing.T) {
	for quiet, want := range map[bool]string{
		false: "zksync: no answer, after 2s, servers a b\nzksync: it's lost, path /a, node b\n",
		true:  "zksync: it's lost, path /a, node b\n",
	} {
		var out bytes.Buffer
		p := printer.New(&out, quiet)
		log := p.Logger()
		log.Info("zksync: connected")
		log.Warn("zksync: no answer", "after", "2s", "servers", "a b")
		log.With("path", "/a").WithGroup("g").Error("it's lost", "node", "b")
		p.Close()
		if got := out.String(); got != want {
			t.Errorf("quiet %v: printed %q, want %q", quiet, got, want)
		}
	}
}
