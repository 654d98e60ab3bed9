package repo_test

import (
	"os/exec"
	"strings"
	"testing"
)

// .ci/run tests a package once more if the race detector's own runtime ended its
// process, and if nothing else failed anywhere.
func TestOnlyCrashesOfTheRaceDetectorAreTestedAgain(t *testing.T) {
	const (
		passed  = "ok  \texample.com/a\t8.043s\n?   \texample.com/none\t[no test files]\n"
		crashed = "ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 " +
			"\"((exiting || thr->fast_state.epoch() == kEpochLast)) != (0)\" (0x0, 0x0) (tid=13750)\nFAIL\texample.com/b\t25.200s\n"
		end = "FAIL\n"
	)
	for _, tt := range []struct {
		name, report string
		again        string // packages, one a line
		excused      bool
	}{
		{"a crash", passed + crashed + passed + end, "example.com/b\n", true},
		{"two crashes", crashed + passed + strings.ReplaceAll(crashed, "/b", "/c") + end, "example.com/b\nexample.com/c\n", true},
		{"no failure", passed, "", false},
		{"no report", "", "", false},
		{"a failed test elsewhere", crashed + "--- FAIL: TestA (0.00s)\n    a_test.go:7: no\nFAIL\nFAIL\texample.com/c\t0.1s\n" + end, "example.com/b\n", false},
		{"a failed test before the crash", "--- FAIL: TestA (0.00s)\n" + crashed + end, "example.com/b\n", false},
		{"a race before the crash", "==================\nWARNING: DATA RACE\n" + crashed + end, "example.com/b\n", false},
		{"a panic", "panic: test timed out after 20m0s\nFAIL\texample.com/b\t1200s\n" + end, "", false},
		{"a leak that only TestMain tells", "goleak: Errors on successful test run\n" + "FAIL\texample.com/b\t1s\n" + end, "", false},
		{"a leak after a crash elsewhere", crashed + "goleak: Errors on successful test run\nFAIL\texample.com/c\t1s\n" + end, "example.com/b\n", false},
		{"a build failure", crashed + "FAIL\texample.com/c [build failed]\n" + end, "example.com/b\n", false},
		{"a fault", "fatal error: fault\nFAIL\texample.com/b\t1s\n" + end, "", false},
		{"the words in a log", "    a_test.go:9: ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346\nFAIL\texample.com/b\t1s\n" + end, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command("awk", "-f", ".ci/crashed.awk")
			cmd.Stdin = strings.NewReader(tt.report)
			out, err := cmd.Output()
			if string(out) != tt.again || (err == nil) != tt.excused {
				t.Errorf("packages to be tested again: %q, %v; want %q, excused %t", out, err, tt.again, tt.excused)
			}
		})
	}
}
