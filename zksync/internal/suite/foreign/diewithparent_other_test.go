//go:build unix && !linux

package foreign

func dieWithParent() {}
