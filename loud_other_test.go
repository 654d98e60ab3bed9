//go:build !linux

package zksync_test

func tellGo(string) {}
