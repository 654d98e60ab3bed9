package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(envRole) == roleEtcd {
		serveEtcd()
		return
	}
	os.Exit(m.Run())
}

// Each lock runs in each workload.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out, 1, 20*time.Millisecond, "", false); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"zksync", "zksync Hold", "zk.Lock", "etcd concurrency.Mutex", "redsync", "redsync, retry after 1 ms"} {
		if n := strings.Count(out.String(), "\n| "+lock+" | "); n != len(workloads) {
			t.Errorf("%s is in %d tables, want %d:\n%s", lock, n, len(workloads), out.String())
		}
	}
}
