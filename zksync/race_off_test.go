//go:build !race

package zksync_test

const raceEnabled = false
