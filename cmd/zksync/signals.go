package main

import (
	"os"
	"os/signal"
	"slices"
)

// catchSignals returns a channel with the signals that are meant for the
// command. One that was ignored when we were started (nohup, a job in a
// script's background) stays so, for the command too.
func catchSignals() chan os.Signal {
	sigs := make(chan os.Signal, 64)
	for _, sig := range passedOn {
		if !signal.Ignored(sig) {
			signal.Notify(sigs, sig)
		}
	}
	catchBrokenPipe()
	return sigs
}

// attend runs work and watches for signals that ask the program to end. The
// first one is handed to onFirst, which is to make work return soon; after a
// second one attend does not wait for that. It returns the first signal, or
// nil, and whether work has returned.
func attend(sigs <-chan os.Signal, work func(), onFirst func(os.Signal)) (first os.Signal, done bool) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		work()
	}()
	for {
		select {
		case <-returned:
			return first, true
		case sig := <-sigs:
			switch {
			case !slices.Contains(endSignals, sig):
				// There is no command that it could be meant for.
			case first != nil:
				return first, false
			default:
				first = sig
				onFirst(sig)
			}
		}
	}
}
