//go:build !race

package suite

import ()

// RaceEnabled tells that the race detector is on: then times and sizes say nothing.
const RaceEnabled = false
