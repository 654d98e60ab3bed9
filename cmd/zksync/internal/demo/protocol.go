package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WorkerCommand is the name of the command that a worker process runs. [Run]
// starts this program's executable with it and three arguments, which are those
// of [Work].
const WorkerCommand = "demo-worker"

const (
	lockPath = "/locks/demo"

	// sessionTimeout is that of the workers: how long the lock of a worker that
	// was killed stays.
	sessionTimeout = 1500 * time.Millisecond

	// A hold is so many writes to the store, and a pause after each.
	writesPerHold = 4
	stepPause     = 140 * time.Millisecond
)

// report is a line of JSON that a worker writes to its stdout.
type report struct {
	At    int64  `json:"at"` // of clock
	What  string `json:"what"`
	Fence int64  `json:"fence,omitempty"`
	N     int    `json:"n,omitempty"` // the number of a write, or the position in line
	Text  string `json:"text,omitempty"`
}

// The values of report.What.
const (
	saysReady   = "ready"   // has a session
	saysWait    = "wait"    // wants the lock
	saysBehind  = "behind"  // waits at position N, behind Text
	saysHold    = "hold"    // has the lock
	saysWrite   = "write"   // asks the store to accept a write
	saysRelease = "release" // has finished its work, and releases the lock next
	saysLost    = "lost"    // has lost the lock
	saysError   = "error"   // can't go on
)

// The lines that a worker reads from its stdin.
const (
	sayAck  = "ack " // and the number of the write that the store has answered
	sayStop = "stop"
)

// writeAck answers a write.
func writeAck(w io.Writer, write int) { fmt.Fprintf(w, "%s%d\n", sayAck, write) }

// writeStop asks a worker to end after its hold.
func writeStop(w io.Writer) { fmt.Fprintln(w, sayStop) }

// readAck returns the number of the write that line answers, and whether line is
// such an answer. A number that makes no sense is 0, which no write has.
func readAck(line string) (write int, isAck bool) {
	number, isAck := strings.CutPrefix(line, sayAck)
	write, _ = strconv.Atoi(number)
	return write, isAck
}

// workerName is the name of a worker for people. Workers count from 0.
func workerName(worker int) string { return fmt.Sprintf("worker %d", worker+1) }
