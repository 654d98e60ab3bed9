package javazk

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the Java of the tests: with fakeEnv it acts as a
// ZooKeeper that answers four-letter words.
func TestMain(m *testing.M) {
	if how := os.Getenv(fakeEnv); how != "" {
		fake(how)
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	found, _ := until(time.Now().Add(10*time.Second), func() (bool, error) { return ok(), nil })
	if !found {
		t.Fatalf("not in time: %s", what)
	}
}
