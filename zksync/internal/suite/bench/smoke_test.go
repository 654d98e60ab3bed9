package bench_test

import (
	"flag"
	"testing"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A benchmark that nobody runs is soon one that nobody can run.
func TestBenchmarksRun(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime")
	defer func(was string) { _ = benchtime.Value.Set(was) }(benchtime.Value.String())
	if err := benchtime.Value.Set("90x"); err != nil {
		t.Fatal(err)
	}
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		for _, load := range measure.Workloads {
			if z.Server == nil && (load.Sessions > 1 || load.Goroutines > 1) {
				continue // zk.Lock leaves a node behind now and then, or its client stops, which would end the test
			}
			t.Run(load.Name, func(t *testing.T) {
				var err error // testing.Benchmark keeps to itself why one failed
				r := testing.Benchmark(func(b *testing.B) { err = benchmark(b, z.Servers, load) })
				t.Log(r)
				suite.Must(t, err)
				for _, name := range []string{"ratio", "requests/op", "zk.Lock-requests/op", "runs/op"} {
					if r.Extra[name] <= 0 && (name != "requests/op" || detailed(load)) {
						t.Errorf("%s is %v", name, r.Extra[name])
					}
				}
			})
		}
	})
}
