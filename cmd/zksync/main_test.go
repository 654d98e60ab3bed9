package main

import (
	"bytes"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// envRole makes the test binary something else: the command itself, or a bare
// job whose lock the test loses.
const envRole = "ZKSYNC_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	os.Unsetenv(envRole) // not for what the command starts
	switch role {
	case "zksync":
		main()
	case "job":
		jobMain()
	}
	goleak.VerifyTestMain(m)
}

// line runs a command line that needs no server, in this process.
func line(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(args, &out, &err)
	return code, out.String(), err.String()
}
