package zksync_test

import (
	"fmt"
	"os"
)

// roles are what a child process of a test may be; the test starts its own
// binary with ZKSYNC_TEST_ROLE set.
var roles = map[string]func() int{}

func runRole(role string) int {
	f, ok := roles[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown role", role)
		return 2
	}
	return f()
}
