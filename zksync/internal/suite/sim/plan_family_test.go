package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Every second program is of mutexes alone; the others are of the family, each
// of its kinds in turn.
var families = []string{"readers", "permits", "several"}

// A Multi takes so many locks.
const mostParts = 3

// part is a lock of a Multi.
type part struct {
	path int
	on   string
}

// familyPlan makes the n-th plan of the family.
func familyPlan(n, seed uint64, full bool) plan {
	r := source(seed, full, 2)
	p := draw(r, full)
	p.family = families[n%uint64(len(families))]
	if p.family == "several" {
		p.wantPaths(2 + r.IntN(2))
	}
	// Every second one has a story.
	if n /= uint64(len(families)); n%2 == 1 {
		own := familyStories[p.family]
		all := slices.Concat(own, own, stories)
		st := all[n/2%uint64(len(all))]
		p.story = st.name
		st.tell(r, &p)
	}
	p.dress(r)
	return p
}

// replaces has some plans with readers, and without a story, delete a lock's path with all
// that is in it and make it anew. Its numbers are drawn apart, so that seeds keep their
// meaning in all else.
func (p *plan) replaces() {
	r := source(p.seed, p.full, 8)
	if p.story != "" || len(p.slots) < 2 || p.kind != "" || p.family != "readers" && p.family != "several" || r.IntN(3) > 0 {
		return
	}
	p.story = "path made anew after a list"
	madeAnewAfterList(r, p)
}

// dress makes the locks of a plan those of its family.
func (p *plan) dress(r *rand.Rand) {
	for i := range p.paths {
		if p.limits = append(p.limits, 0); p.family == "permits" {
			p.limits[i] = int64(1 + r.IntN(5))
		}
	}
	if p.fixedLimit > 0 {
		p.limits[0] = p.fixedLimit
	}
	if p.family == "several" && r.IntN(3) == 0 { // a semaphore beside them
		p.paths = append(p.paths, "/s")
		p.limits = append(p.limits, int64(1+r.IntN(5)))
	}
	// A new limit may be on its way to all places.
	differ := p.fixedLimit == 0 && r.IntN(4) == 0
	for range p.slots {
		less := int64(0)
		if differ {
			less = r.Int64N(3)
		}
		p.less = append(p.less, less)
	}
	for slot, lives := range p.slots {
		for _, l := range lives {
			for _, ops := range l.programs {
				for i := range ops {
					p.dressOp(r, slot, &ops[i])
				}
			}
		}
	}
}

// limitOf is the limit of a semaphore as it is in a place.
func (p *plan) limitOf(path, slot int) int64 {
	if len(p.less) == 0 {
		return max(p.limits[path], 1)
	}
	return max(p.limits[path]-p.less[slot], 1)
}

func (p *plan) dressOp(r *rand.Rand, slot int, o *op) {
	if o.on != "" || o.kind == "sleep" {
		return
	}
	if len(p.paths) > 0 && p.limits[len(p.paths)-1] > 0 && p.family == "several" && r.IntN(6) == 0 {
		o.path = len(p.paths) - 1
	}
	o.held = r.IntN(2) == 0
	switch {
	case p.limits[o.path] > 0:
		limit := p.limitOf(o.path, slot)
		o.on, o.weight = asPermit, int64(1+r.IntN(4))
		if o.kind == "lock" || r.IntN(8) > 0 { // no more than there are, as a rule
			o.weight = min(o.weight, limit)
		}
		if o.kind == "do" {
			o.again = false // nothing is entered again
		}
		if o.kind == "as" {
			o.kind, o.weight = "parts", min(max(o.weight, 2), max(limit, 2))
		}
	case p.family == "several" && r.IntN(2) == 0:
		o.on = "multi"
		locks := len(p.paths)
		if p.limits[locks-1] > 0 {
			locks--
		}
		for _, i := range r.Perm(locks)[:min(locks, 2+r.IntN(mostParts-1))] {
			o.parts = append(o.parts, part{i, pick(r, asMutex, asMutex, asWriter, asReader)})
		}
	default:
		o.on = pick(r, asReader, asReader, asReader, asWriter, asWriter, asMutex)
		if o.kind == "as" {
			o.kind = pick(r, "as", "downgrade", "downgrade", "upgrade")
		}
	}
}

func (o op) lock() string {
	switch o.on {
	case "":
		return fmt.Sprint(o.path)
	case asPermit:
		return fmt.Sprintf("%d of %d", o.weight, o.path)
	case "multi":
		text := ""
		for i, x := range o.parts {
			if i > 0 {
				text += "+"
			}
			text += fmt.Sprintf("%s %d", x.on, x.path)
		}
		return text
	}
	return fmt.Sprintf("%s %d", o.on, o.path)
}
