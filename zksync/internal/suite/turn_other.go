//go:build !(darwin || freebsd || linux)

package suite

// takeTurn does nothing on this system.
func takeTurn(bool) {}
