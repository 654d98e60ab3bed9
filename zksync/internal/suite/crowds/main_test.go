package crowds_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestMain(m *testing.M) { suite.MainAlone(m) }
