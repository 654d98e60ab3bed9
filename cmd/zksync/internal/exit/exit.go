// Package exit holds the exit codes of the command zksync, and the error that
// carries a code from the place of a failure to main.
//
// Invariants: a code that is not the command's own appears here and nowhere
// else. Nothing in this package ends the process; only main does.
package exit

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// The exit codes that are not the command's own. They follow the shell and
// sysexits.h. Lost is the first number after those of sysexits.h; no shell, and
// neither flock nor timeout, uses it.
const (
	Conflict      = 1   // -n or -w did not obtain the lock (-E changes it), or the demo's lock failed
	Usage         = 64  // EX_USAGE
	Unavailable   = 69  // EX_UNAVAILABLE
	OS            = 71  // EX_OSERR
	NoPermission  = 77  // EX_NOPERM
	Lost          = 79  // the lock was lost (--lost-exit-code changes it)
	NotExecutable = 126 // as the shell
	NotFound      = 127 // as the shell
	Signal        = 128 // plus the signal's number, as the shell
)

// Error ends the program with Code. A nil Err means that everything worth
// telling is printed already.
type Error struct {
	Code int
	Err  error
}

// Error returns the text of Err as [Plain] does, or the code if Err is nil.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return Plain(e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns the error of a command line that makes no sense.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Interrupted returns the error of a program that the signal sig ended. It
// prints nothing, since the sender of the signal knows why.
func Interrupted(sig os.Signal) *Error {
	return &Error{Code: Signal + int(sig.(syscall.Signal))}
}

// Plain returns the text of err without the prefix "zksync: ", which starts
// each line that the program prints anyway.
func Plain(err error) string { return strings.TrimPrefix(err.Error(), "zksync: ") }
