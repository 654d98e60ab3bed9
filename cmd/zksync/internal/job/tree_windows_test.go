package job

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
)

// The test binary plays the command, and what the command starts.
const (
	envRole   = "ZKSYNC_TEST_ROLE"
	roleOuter = "outer"
	roleInner = "inner"
)

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case roleOuter:
		inner := exec.Command(os.Args[0])
		inner.Env = append(os.Environ(), envRole+"="+roleInner)
		inner.Stdout = os.Stdout
		if err := inner.Run(); err != nil {
			os.Exit(1)
		}
	case roleInner:
		file := os.Getenv("ZKSYNC_TEST_FILE")
		f, err := os.Create(file) // nobody can remove an open file
		if err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Minute)
		f.Close()
	default:
		os.Exit(m.Run())
	}
}

// brief is a hold that ends with its context.
type brief struct{ ctx context.Context }

func (b brief) Context(context.Context) context.Context { return b.ctx }
func (b brief) Err() error                              { return b.ctx.Err() }

// When the lock is lost, not only the command is killed, but also what it has started.
func TestJobKillsTheTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "open")
	ctx, lose := context.WithCancel(context.Background())
	out := printer.New(io.Discard, true)
	defer out.Close()
	j := &Job{
		Path: os.Args[0], Args: os.Args[:1], Env: append(os.Environ(), envRole+"="+roleOuter, "ZKSYNC_TEST_FILE="+file),
		Lock: "/lock", Hold: brief{ctx}, Signals: make(chan os.Signal), Out: out,
	}
	go func() {
		defer lose()
		for range 300 {
			if _, err := os.Stat(file); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	end, err := j.Run()
	if err != nil || !errors.Is(end.Lost, context.Canceled) {
		t.Fatalf("%+v, %v", end, err)
	}
	for range 100 {
		if err = os.Remove(file); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("what the command has started still runs: %v", err)
}
