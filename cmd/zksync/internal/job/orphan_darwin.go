package job

import "golang.org/x/sys/unix"

// parentsOf returns the parents of the processes in a process group.
func parentsOf(group int) (parents []int) {
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group) // no answer: nobody is known
	for _, p := range all {
		parents = append(parents, int(p.Eproc.Ppid))
	}
	return parents
}
