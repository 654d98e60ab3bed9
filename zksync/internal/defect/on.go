//go:build zksyncdefects

package defect

import (
	"os"
	"strings"
	"sync/atomic"
)

var on atomic.Uint64 // a bit each

func init() { Set(Parse(os.Getenv("ZKSYNC_DEFECT"))...) }

// On reports whether the library is to make the mistake. Several goroutines may
// ask.
func On(d Defect) bool { return on.Load()&(1<<d) != 0 }

// Set has the library make these mistakes and no others.
func Set(ds ...Defect) {
	var bits uint64
	for _, d := range ds {
		bits |= 1 << d
	}
	on.Store(bits)
}

// Parse returns the defects that text names, with commas between them. What is
// no name is left out.
func Parse(text string) []Defect {
	var ds []Defect
	for word := range strings.SplitSeq(text, ",") {
		for d, name := range names {
			if name != "" && name == word {
				ds = append(ds, Defect(d))
			}
		}
	}
	return ds
}
