package job

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/zksync"
)

// Job is a command that runs under a lock. All fields but Env must be set.
type Job struct {
	Path string   // the file to run, see [Find]
	Args []string // the command as given, its name first
	Env  []string // the command's whole environment

	Lock  string        // the lock's name in messages
	Hold  Hold          // the hold on the lock, for as long as the command runs
	Grace time.Duration // how long the command may take to end when the lock is lost

	Signals chan os.Signal // signals that came to the program; Run adds those of job control
	Out     *printer.Printer
}

// Hold is what a job needs to know of its lock. A *zksync.Hold is one.
type Hold interface {
	// Context returns a context that ends when the lock is lost, or when parent
	// ends.
	Context(parent context.Context) context.Context
	// Err returns nil while the lock is held, judged by the clock now.
	Err() error
}

// End is how a command ended.
type End struct {
	Code int   // the command's exit code, as the shell counts it
	Lost error // not nil: the lock was lost while the command ran

	// Running is the number of the process group if the lock was lost, and the
	// command could not be killed, because it runs as another user. Code says
	// nothing then if the command itself still runs.
	Running int
}

// Reason returns why a lock was lost, for a line that says already that it was.
func Reason(lost error) string {
	if e := (*zksync.Error)(nil); errors.As(lost, &e) {
		lost = e.Err // the line names the lock, too
	}
	return strings.TrimPrefix(exit.Plain(lost), "lock lost: ")
}

// whyLost returns why the lock of a hold was lost whose context has ended.
func whyLost(h Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	return errors.New("the lock's context has ended") // and this job has not ended it
}
