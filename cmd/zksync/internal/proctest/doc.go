// Package proctest tests programs as processes: signals, exit codes, terminals.
//
// A test binary plays the program that it tests. Its TestMain calls [PlayRole],
// and its tests start it again in a role with [Prepare].
//
// Invariants: a process ends with the test that started it. It has a session of
// its own, and so no terminal but the one that [OnConsole] gives it. A wait fails
// after [Limit] and shows what the process has printed.
//
// The package is for Unix only.
package proctest
