package config_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"testing"
)

// The client of the set-up that these tests show logs nothing, whatever the fault.
func TestMain(m *testing.M) {
	var said bytes.Buffer
	log.SetOutput(&said)
	code := m.Run()
	if said.Len() > 0 {
		fmt.Printf("logged:\n%s", &said)
		code = 1
	}
	os.Exit(code)
}
