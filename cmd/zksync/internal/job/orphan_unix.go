//go:build unix && !linux && !darwin

package job

import "os"

// parentsOf returns the parent of this process alone. The parents of other
// processes are not known here.
func parentsOf(int) []int { return []int{os.Getppid()} }
