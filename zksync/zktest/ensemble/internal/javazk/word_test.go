package javazk

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestAsk(t *testing.T) {
	l, err := net.Listen("tcp", loopback+":0")
	must(t, err)
	defer l.Close()
	for _, test := range []struct {
		name   string
		answer func(net.Conn)
		want   string
		err    error
	}{
		{"answers", func(c net.Conn) { io.WriteString(c, "im"); io.WriteString(c, "ok") }, "imok", nil},
		{"hangs up", func(net.Conn) {}, "", io.ErrUnexpectedEOF},
		{"is silent", func(c net.Conn) { io.Copy(io.Discard, c) }, "", os.ErrDeadlineExceeded},
	} {
		done := make(chan string)
		go func() {
			c, err := l.Accept()
			if err != nil {
				done <- err.Error()
				return
			}
			word := make([]byte, 4)
			io.ReadFull(c, word)
			test.answer(c)
			c.Close()
			done <- string(word)
		}()
		got, err := ask(l.Addr().String(), "ruok", 200*time.Millisecond)
		if word := <-done; got != test.want || !errors.Is(err, test.err) || word != "ruok" {
			t.Errorf("%s: %q, %v to %q, want %q, %v", test.name, got, err, word, test.want, test.err)
		}
	}
	l.Close()
	if _, err := ask(l.Addr().String(), "ruok", time.Second); err == nil {
		t.Error("an answer where nobody listens")
	}
}
