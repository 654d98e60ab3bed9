//go:build unix && !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package job

// terminal does nothing: package syscall has no ioctl here, so the command stays
// in the terminal's background.
type terminal struct{}

func openTerminal() *terminal { return nil }

func (t *terminal) isStdin() bool     { return false }
func (t *terminal) wanted() bool      { return false }
func (t *terminal) handOver(int) bool { return false }
func (t *terminal) takeBack(int)      {}
func (t *terminal) close()            {}
