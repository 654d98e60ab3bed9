//go:build unix

package suite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Child is a process of this test, playing a role.
type Child struct {
	*exec.Cmd
	Lines chan string // what it says; closed at its end
}

// StartChild runs a role in a process of its own, which ends with the test. env are
// pairs.
func StartChild(t *testing.T, role string, env ...string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ZKSYNC_TEST_ROLE="+role)
	for i := 0; i < len(env); i += 2 {
		cmd.Env = append(cmd.Env, env[i]+"="+env[i+1])
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = DieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{Cmd: cmd, Lines: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.Lines <- lines.Text()
		}
		close(c.Lines)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
	})
	return c
}

// Says waits for the child's next line, which has to begin with a word, and
// returns the rest.
func (c *Child) Says(ctx context.Context, word string) (string, error) {
	select {
	case line, ok := <-c.Lines:
		first, rest, _ := strings.Cut(line, " ")
		if !ok || first != word {
			return "", fmt.Errorf("the child says %q, want %q", line, word)
		}
		return rest, nil
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for %q: %w", word, ctx.Err())
	}
}

// Holds waits until the child says that it holds the lock.
func (c *Child) Holds(ctx context.Context) (fence int64, node string, err error) {
	rest, err := c.Says(ctx, "holds")
	if err != nil {
		return 0, "", err
	}
	var alive bool
	if _, err := fmt.Sscan(rest, &fence, &alive, &node); err != nil || !alive {
		return 0, "", fmt.Errorf("the child holds: %q", rest)
	}
	return fence, node, nil
}

// Stop stops the child, and returns when it has: the signal alone leaves its
// threads some time.
func (c *Child) Stop(t *testing.T) {
	t.Helper()
	Must(t, c.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("the child did not stop: %v, status %#x", err, status)
		}
		return
	}
}

// Resume lets a child that was stopped go on.
func (c *Child) Resume(t *testing.T) {
	t.Helper()
	Must(t, c.Process.Signal(syscall.SIGCONT))
}
