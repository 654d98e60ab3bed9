//go:build unix

package crowds_test

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// permitWatch looks at a semaphore's line as long as it is there.
type permitWatch struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	length int // the most in line; guarded by mu

	// Written until end. Times are nanoseconds of the clock, nodes without path.
	seen   map[string]int64  // the newest look that shows the node, before it was sent
	waits  map[string]bool   // there were not enough permits for it once
	enough map[string]int64  // when there were, for those of waits: when a change was reported
	before map[string]string // the node before those of enough, at that time
	there  map[string]bool   // in the newest listing
	gone   map[string]int64
	trips  []time.Duration // round trips
	ended  int64
}

func newPermitWatch(t *testing.T, z *suite.Ground, p string) *permitWatch {
	w := &permitWatch{stop: make(chan struct{}), seen: map[string]int64{}, waits: map[string]bool{}, enough: map[string]int64{},
		before: map[string]string{}, there: map[string]bool{}, gone: map[string]int64{}}
	look, trip := z.Raw(t), z.Raw(t)
	t.Cleanup(w.end)
	w.wg.Go(func() {
		for told := time.Now(); ; {
			sent := time.Now()
			names, _, ch, err := look.ChildrenW(p)
			if err == nil {
				w.look(names, sent, told)
			}
			for again := time.After(5 * time.Millisecond); ; again = time.After(5 * time.Millisecond) {
				select {
				case <-ch:
					told = time.Now()
				case <-again:
					if err == nil { // how long a killed one's nodes are there
						sent := time.Now()
						if names, _, err := look.Children(p); err == nil {
							w.note(names, sent)
						}
						continue
					}
				case <-w.stop:
					return
				}
				break
			}
		}
	})
	w.wg.Go(func() {
		for {
			start := time.Now()
			if _, _, err := trip.Exists(p); err != nil {
				t.Error(err)
			}
			w.trips = append(w.trips, time.Since(start))
			select {
			case <-w.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *permitWatch) end() {
	select {
	case <-w.stop:
	default:
		w.ended = time.Now().UnixNano()
		close(w.stop)
	}
	w.wg.Wait()
}

// most is the longest line that was seen.
func (w *permitWatch) most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.length
}

func (w *permitWatch) note(names []string, sent time.Time) {
	for _, n := range names {
		w.seen[n] = sent.UnixNano()
	}
}

var permitName = regexp.MustCompile(`-permit-(\d+)of\d+-(\d{10})$`)

// look takes a listing in that was requested after a change was reported.
func (w *permitWatch) look(names []string, sent, told time.Time) {
	type place struct {
		name        string
		weight, seq int64
	}
	for n := range w.there {
		w.there[n] = false
	}
	for _, n := range names {
		w.there[n] = true
	}
	for n, there := range w.there {
		if !there {
			w.gone[n] = told.UnixNano()
			delete(w.there, n)
		}
	}
	w.note(names, sent)
	var line []place
	for _, n := range names {
		if m := permitName.FindStringSubmatch(n); m != nil {
			weight, _ := strconv.ParseInt(m[1], 10, 64)
			seq, _ := strconv.ParseInt(m[2], 10, 64)
			line = append(line, place{n, weight, seq})
		}
	}
	slices.SortFunc(line, func(a, b place) int { return cmp.Compare(a.seq, b.seq) })
	sum := int64(0)
	for i, n := range line {
		if sum += n.weight; sum > permitLimit {
			w.waits[n.name] = true
			continue
		}
		if _, known := w.enough[n.name]; w.waits[n.name] && !known {
			w.enough[n.name] = told.UnixNano()
			if i > 0 {
				w.before[n.name] = line[i-1].name
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.length = max(w.length, len(line))
}
