package zktest

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// deadlines is a heap of sessions, the one to look at next first. A session is looked
// at once in its timeout, not each time that its client is heard. So its place in the
// heap may be earlier than its end, and is never later.
type deadlines []*session

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool { return d[i].look < d[j].look }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push is for package heap.
func (d *deadlines) Push(x any) {
	ss := x.(*session)
	ss.place = len(*d)
	*d = append(*d, ss)
}

// Pop is for package heap.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	ss := (*d)[last]
	ss.place = -1
	(*d)[last] = nil
	*d = (*d)[:last]
	return ss
}

// set takes note of a session's end, which is new or has changed.
func (d *deadlines) set(ss *session) {
	switch {
	case ss.place < 0:
		ss.look = ss.expires
		heap.Push(d, ss)
	case ss.expires < ss.look:
		ss.look = ss.expires
		heap.Fix(d, ss.place)
	}
}

// remove takes out a session, if it is there.
func (d *deadlines) remove(ss *session) {
	if ss.place >= 0 {
		heap.Remove(d, ss.place)
	}
}

// take takes out the sessions whose time has come, and returns them in the order of
// their ids.
func (d *deadlines) take(now time.Duration) (over []*session) {
	for len(*d) > 0 && (*d)[0].look <= now {
		ss := heap.Pop(d).(*session)
		if ss.expires > now { // its client was heard since
			d.set(ss)
			continue
		}
		over = append(over, ss)
	}
	slices.SortFunc(over, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return over
}
