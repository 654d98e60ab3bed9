package ensemble

import "github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/javazk"

// Pids returns the process ids of the servers that run.
func (e *Ensemble) Pids() []int { return e.java.Pids() }

// WithPorts takes the ports from pick, which gets the usual one to fall back on.
func WithPorts(pick func(usual func() (int, error)) (int, error)) Option {
	return func(c *config) {
		c.PickPort = func() (int, error) { return pick(javazk.PickPort) }
	}
}
