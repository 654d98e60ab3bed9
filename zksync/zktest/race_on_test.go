//go:build race

package zktest_test

// raceEnabled: the race detector makes everything several times slower.
const raceEnabled = true
