//go:build !zksyncdefects

package defect

// On reports whether the library is to make the mistake: never.
func On(Defect) bool { return false }
