// Package process hides how systems differ in two matters: which signals a
// program can receive, and what happens to a process when the one that started
// it dies.
//
// Invariant: SIGHUP and SIGINT stay ignored, for the program and for everything that
// it starts, if they were ignored when the program started. For other signals this
// can't be had: the Go runtime handles them before main, and tells nobody what was
// there before.
package process

import (
	"os"
	"os/signal"
	"slices"
)

// CatchSignals returns a channel with the signals that are meant for the command
// that the program runs, the signals that ask for an end among them. SIGHUP and
// SIGINT stay ignored if they were ignored at the start of the program (by nohup,
// or in the background of a script). Writing to a stderr that nobody reads becomes an
// error, and no longer ends the program.
func CatchSignals() chan os.Signal {
	sigs := make(chan os.Signal, 64)
	for _, sig := range forCommand {
		if !signal.Ignored(sig) {
			signal.Notify(sigs, sig)
		}
	}
	catchBrokenPipe()
	return sigs
}

// AsksToEnd reports whether sig asks a program to end.
func AsksToEnd(sig os.Signal) bool { return slices.Contains(asksToEnd, sig) }
