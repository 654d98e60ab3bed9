//go:build !race

package zksync_test

// raceEnabled: the race detector is on, and times and sizes say nothing.
const raceEnabled = false
