//go:build !race

package bubble

func enter() {}
func leave() {}
