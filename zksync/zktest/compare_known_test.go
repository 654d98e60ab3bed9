package zktest_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// compareKnown are the differences that are to stay, each with its reason: a
// line of the first server that matches real is as good as the second one's in
// its place that matches embedded. What the random sequences never ask for, for a
// reason of the same kind, says so where they are made.
var compareKnown = []struct {
	reason         string
	real, embedded *regexp.Regexp
}{
	{
		reason:   "an event's header has the zxid of its cause since ZooKeeper 3.9, and -1 before",
		real:     regexp.MustCompile(`^(    to \d: (?:the old connection: )?event .*), zxid -1, (.*)$`),
		embedded: regexp.MustCompile(`^(    to \d: (?:the old connection: )?event .*), zxid \S+, (.*)$`),
	},
	{
		reason:   "since ZooKeeper 3.9 the answer to a connect request has a byte for read-only mode whether the client sent one or not",
		real:     regexp.MustCompile(`^(    to \d: .*connected: .*), readOnly true false, 37 bytes(.*)$`),
		embedded: regexp.MustCompile(`^(    to \d: .*connected: .*), readOnly false false, 36 bytes(.*)$`),
	},
	{
		reason:   "before ZooKeeper 3.9, checkWatches was content with anybody's watch",
		real:     regexp.MustCompile(`^(    to \d: answer \d+ to checkWatches, zxid \S+), OK $`),
		embedded: regexp.MustCompile(`^(    to \d: answer \d+ to checkWatches, zxid \S+), NoWatcher$`),
	},
}

// asSince39 makes a sequence one that ZooKeeper does the same with before and
// since 3.9. The embedded server does as before: no client sends the rest.
func asSince39(steps []compareStep) {
	for _, s := range steps {
		for i := range s.requests {
			s.requests[i].asSince39(false)
		}
	}
}

func (r *compareRequest) asSince39(part bool) {
	for i := range r.ops {
		r.ops[i].asSince39(true)
	}
	if r.op.Write() && (r.cut > 0 || r.null) {
		r.cut, r.null = 0, false // breaks the server for good: no transaction gets through any more
	}
	if r.op == wire.OpDeleteContainer {
		r.op = wire.OpSync // it carries it out since, whoever asks and may not
	}
	if r.op == wire.OpCheckWatches || r.op == wire.OpRemoveWatches {
		// Since then the two kinds of one-shot watches are distinguished from lasting
		// ones: so ask for any.
		// There are two more types for those.
		if r.mode > 0 {
			r.mode = 3
		}
	}
	if !part {
		return
	}
	r.nullACL = false // breaks it too
	switch {
	case r.op == wire.OpCreate2:
		r.op = wire.OpCreate // its result has had a Stat since
	case r.op == wire.OpCreateContainer:
		r.flags = 4 // the operation counts since, before it was the flags alone
	}
	if r.op == wire.OpCreate && (r.flags < 0 || r.flags > 3) {
		r.flags = 0 // such a multi has one error for the whole of it since, not one a part
	}
}

// alike compares what came of a step, apart from the known differences. What the
// patterns capture has to be the same.
func alike(a, b string) bool {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(linesA) != len(linesB) {
		return false
	}
	for i, line := range linesA {
		same := line == linesB[i]
		for _, k := range compareKnown {
			m, n := k.real.FindStringSubmatch(line), k.embedded.FindStringSubmatch(linesB[i])
			same = same || m != nil && n != nil && slices.Equal(m[1:], n[1:])
		}
		if !same {
			return false
		}
	}
	return true
}
