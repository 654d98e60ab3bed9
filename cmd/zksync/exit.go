package main

import (
	"fmt"
	"strings"
)

// The exit codes that are not the command's own. They are those of the shell
// and of sysexits.h; exitLost is the first number after the latter, which
// neither a shell, nor flock, nor timeout uses.
const (
	exitConflict      = 1   // -E: not obtained by -n or -w
	exitUsage         = 64  // EX_USAGE
	exitUnavailable   = 69  // EX_UNAVAILABLE
	exitOS            = 71  // EX_OSERR
	exitNoPermission  = 77  // EX_NOPERM
	exitLost          = 79  // --lost-exit-code
	exitNotExecutable = 126 // as the shell
	exitNotFound      = 127 // as the shell
	exitSignal        = 128 // plus the signal's number, as the shell
)

// exitError ends the program with a code. A nil err: all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return plain(e.err)
}

func (e *exitError) Unwrap() error { return e.err }

// usagef returns the error of a command line that makes no sense.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// plain returns err's text without the name that starts each of our lines.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "zksync: ") }
