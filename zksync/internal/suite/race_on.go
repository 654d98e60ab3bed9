//go:build race

package suite

// RaceEnabled: the race detector is on, and times and sizes say nothing.
const RaceEnabled = true
