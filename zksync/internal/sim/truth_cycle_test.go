package sim

import (
	"fmt"
	"strings"

	"github.com/zklocker/go-zksync/zksync"
)

// cycleKey names a wait of a cycle by its nodes and their versions.
func cycleKey(s seenWait) string {
	return fmt.Sprint(s.Path, s.Node, s.versions[0], s.ForNode, s.versions[1])
}

// trueLocked reports whether an owner waits for another: that one holds the lock,
// or waits for it too.
func (w *world) trueLocked(x zksync.Wait) bool {
	waits, ahead := false, false
	for y := range w.waits {
		if _, on := y.on(x.Path); on {
			waits = waits || y.owner == x.OwnerName
			ahead = ahead || y.owner == x.ForName
		}
	}
	for _, c := range w.active[x.Path] {
		ahead = ahead || c.owner == x.ForName
	}
	return waits && ahead
}

// cycleLocked is a cycle of owners that wait for each other, by whom they wait for.
func (w *world) cycleLocked() map[string]waiting {
	known := w.waitingLocked()
	for owner := range known {
		cycle := make(map[string]waiting)
		at := owner
		for {
			x, ok := known[at]
			if !ok {
				break
			}
			if _, been := cycle[at]; been {
				if at == owner {
					return cycle
				}
				break
			}
			cycle[at] = x
			at = x.holds.owner
		}
	}
	return nil
}

// checkFoundLocked looks whether a cycle that was there before a look, and is
// still, is among those that it found.
func (w *world) checkFoundLocked(who string, cycle map[string]waiting, found map[string][]seenWait) {
	if len(cycle) == 0 {
		return
	}
	var names []string
	for owner, x := range cycle {
		if !w.waits[x.x] || x.holds.over {
			return
		}
		names = append(names, owner)
	}
	for _, waits := range found {
		for _, x := range waits {
			if _, ok := cycle[x.OwnerName]; ok {
				return
			}
		}
	}
	w.wrongLocked("cycle: %s is not told that these wait for each other: %s", who, strings.Join(names, ", "))
}
