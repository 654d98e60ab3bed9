package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// parentsOf returns the parents of the processes in a process group, as far as
// they can be seen.
func parentsOf(group int) (parents []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name before these fields may hold anything, parentheses included.
		fields := stat[bytes.LastIndexByte(stat, ')')+1:]
		var state string
		var parent, of int
		if _, err := fmt.Sscan(string(fields), &state, &parent, &of); err == nil && of == group {
			parents = append(parents, parent)
		}
	}
	return parents
}
