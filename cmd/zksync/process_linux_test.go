package main

import (
	"fmt"
	"os"
	"strings"
)

// state returns a process's state letter from proc(5), or 0.
func state(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name before it may hold anything, parentheses included.
	after := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return after[1]
}

// alive reports whether a process runs. One that nobody waits for does not.
func alive(pid int) bool {
	s := state(pid)
	return s != 0 && s != 'Z' && s != 'X'
}
