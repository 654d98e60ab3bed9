package job

import (
	"context"
	"os"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
)

// Idle holds a lock without a command, until a signal asks for an end or the lock is
// lost.
func Idle(h Hold, signals <-chan os.Signal) End {
	held, release := context.WithCancel(context.Background())
	defer release()
	lose := h.Context(held).Done()
	for {
		select {
		case <-lose:
			return End{Lost: whyLost(h)}
		case sig := <-signals:
			if process.AsksToEnd(sig) {
				return End{Code: exit.Interrupted(sig).Code, Lost: h.Err()}
			}
		}
	}
}
