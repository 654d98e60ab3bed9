//go:build unix

package crowds_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// crew is goroutines that take locks until the test stops them, in the test's
// process or in one of their own, and write into one file what they do.
type crew struct {
	file *os.File
	say  func(words ...any)
	ctx  context.Context // ends at the word "stop"
	stop context.CancelFunc
	wg   sync.WaitGroup
	held atomic.Int64
}

func (c *crew) open(file string, say func(words ...any)) (err error) {
	c.say = say
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.file, err = os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return err
}

// openChild opens the crew of a child process, which speaks on its output.
func (c *crew) openChild() error {
	var mu sync.Mutex
	err := c.open(os.Args[1], func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(words...)
	})
	if err != nil {
		c.say("failed", err)
	}
	return err
}

func (c *crew) failed(what string, err error) {
	c.say("failed", what, err)
	c.stop()
}

// write writes a line, in one piece.
func (c *crew) write(words ...any) {
	if _, err := fmt.Fprintln(c.file, words...); err != nil {
		c.failed("note", err)
	}
}
