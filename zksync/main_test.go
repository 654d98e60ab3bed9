package zksync_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

// exampleServers are what the examples of the package's page connect to.
func exampleServers() []string { return []string{suite.ExampleServer().Addr()} }
