// Package await waits for calls of go-zookeeper's client, which know no context.
//
// Invariant: a call that was given up shares no variable with the caller, unless f does.
package await

import "context"

// Result runs f, and returns its results, or ctx's error if ctx ends first. Then f goes on
// in the background, and its results are dropped: f must not write what the caller reads.
func Result[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
