package repo_test

import (
	"log"
	"os"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The tests read the repository from its root.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../.."); err != nil {
		log.Fatal(err)
	}
	suite.Main(m)
}
