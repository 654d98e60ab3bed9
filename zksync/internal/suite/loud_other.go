//go:build !linux

package suite

func tellGo(string) {}
