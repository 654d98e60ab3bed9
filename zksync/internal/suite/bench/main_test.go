// Package bench_test compares the locks of package zksync with zk.Lock and with the
// floor, a node made and deleted:
//
//	go test ./zksync/internal/suite/bench -run '^$' -bench . -benchtime 5s
//	go test ./zksync/internal/suite/bench -run '^$' -bench /real/free -servers 3
//
// All that are compared work by turns in one run. "ratio" is the library's rate divided
// by that of zk.Lock: the median of at least nine rounds.
package bench_test

import (
	"flag"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

var (
	servers = flag.Int("servers", 1, "how many real servers a benchmark runs on, 1 or 3")
	table   = flag.String("table", "", "a page that TestTable measures the table of anew")
	each    = flag.Duration("each", 0, "how long a round of the table is; 0: 250 ms")
	least   = flag.Int("rounds", 9, "how many rounds the table has")
)

func TestMain(m *testing.M) { suite.MainAlone(m) }
