package exit_test

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{&exit.Error{Code: exit.Lost, Err: errors.New("zksync: lock lost")}, 79, "lock lost"},
		{&exit.Error{Code: 42}, 42, "exit code 42"},
		{exit.Usagef("--%s: %w", "flag", io.EOF), 64, "--flag: EOF"},
		{exit.Interrupted(syscall.SIGTERM), 143, "exit code 143"},
	} {
		var e *exit.Error
		if !errors.As(fmt.Errorf("wrapped: %w", tt.err), &e) || e.Code != tt.code || e.Error() != tt.text {
			t.Errorf("%#v, want code %d and text %q", tt.err, tt.code, tt.text)
		}
	}
	if err := exit.Usagef("--flag: %w", io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("%v does not wrap its cause", err)
	}
}
