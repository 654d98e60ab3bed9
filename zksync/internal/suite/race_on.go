//go:build race

package suite

// RaceEnabled tells that the race detector is on: then times and sizes say nothing.
const RaceEnabled = true
