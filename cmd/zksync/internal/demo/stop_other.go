//go:build !unix

package demo

// ignoreStop does nothing: no key stops a program here.
func ignoreStop() {}
