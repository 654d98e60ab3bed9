package costs_test

import (
	"flag"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// update has the tests write what they measure to docs/cost.md and its picture, instead
// of comparing it.
var update = flag.Bool("update", false, "write the tables and the picture of docs/cost.md")

func TestMain(m *testing.M) { suite.MainAlone(m) }
