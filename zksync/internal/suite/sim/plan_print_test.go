package sim

import (
	"fmt"
	"strings"
)

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s %s paths %v, limits %v less %v, handoff %d, latency %v, story %q\n",
		p.seed, p.kind, p.family, p.paths, p.limits, p.less, p.handoff, p.latency, p.story)
	for i, lives := range p.slots {
		for j, l := range lives {
			fmt.Fprintf(&b, "  process %d.%d%s", i, j, l.what())
			if l.end != "" {
				fmt.Fprintf(&b, ", %s after %v", l.end, l.at)
			}
			b.WriteByte('\n')
			for k, ops := range l.programs {
				fmt.Fprintf(&b, "    p%d.%d/%d %v\n", i, j, k, ops)
			}
		}
	}
	for i, f := range p.faults {
		fmt.Fprintf(&b, "  fault f%d %v\n", i, f)
	}
	return b.String()
}

// what is what is special about a process.
func (l life) what() (text string) {
	if l.own {
		text += ", on a client of its own"
	}
	if l.kazoo {
		text += ", kazoo"
	}
	if l.hooks != nil {
		text += fmt.Sprintf(", hooks of %v", l.hooks.slow)
		if l.hooks.closes != "" {
			text += fmt.Sprintf(", Close by %s %d", l.hooks.closes, l.hooks.nth)
		}
	}
	return text
}

// drop leaves a part of the plan out: "p1", "p1.0" or "p1.0/2", as String calls
// processes and goroutines, or the fault "f3". It reports false if there is no
// such part.
func (p *plan) drop(what string) bool {
	found := false
	for i, lives := range p.slots {
		for j, l := range lives {
			for g := range l.programs {
				switch what {
				case fmt.Sprintf("p%d", i), fmt.Sprintf("p%d.%d", i, j), fmt.Sprintf("p%d.%d/%d", i, j, g):
					l.programs[g], found = nil, true
				}
			}
		}
	}
	for i := range p.faults {
		if what == fmt.Sprintf("f%d", i) {
			p.faults[i].kind, found = "none", true
		}
	}
	return found
}
