//go:build !race

package suite

import ()

// raceEnabled: the race detector is on, and times and sizes say nothing.
const RaceEnabled = false
