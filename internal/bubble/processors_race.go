//go:build race

package bubble

import (
	"runtime"
	"sync"
)

var (
	mu         sync.Mutex
	open       int // bubbles
	processors int // before the first of them was opened
)

func enter() {
	mu.Lock()
	defer mu.Unlock()
	if open++; open == 1 {
		processors = runtime.GOMAXPROCS(1)
	}
}

func leave() {
	mu.Lock()
	defer mu.Unlock()
	if open--; open == 0 {
		runtime.GOMAXPROCS(processors)
	}
}
