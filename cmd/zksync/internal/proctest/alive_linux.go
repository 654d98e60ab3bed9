package proctest

import (
	"fmt"
	"os"
	"strings"
)

// State returns the letter of a process's state as in proc(5), or 0 if there is
// no such process.
func State(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name before the letter may hold anything, parentheses included.
	after := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return after[1]
}

// Alive reports whether a process runs. A zombie does not.
func Alive(pid int) bool {
	s := State(pid)
	return s != 0 && s != 'Z' && s != 'X'
}
