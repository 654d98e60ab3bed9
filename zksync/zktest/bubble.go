package zktest

import (
	"bytes"
	"runtime"
)

// inBubble reports whether the calling goroutine runs in a bubble of testing/synctest. Only
// the first line of its stack tells. If a later Go writes something else there, it reports
// false.
func inBubble() bool {
	var stack [128]byte
	line, _, _ := bytes.Cut(stack[:runtime.Stack(stack[:], false)], []byte("\n"))
	return bytes.Contains(line, []byte("synctest bubble"))
}
