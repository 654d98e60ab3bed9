package protocol_test

import "encoding/binary"

// encode appends a world's state. Two states with one encoding are one state: nothing
// that can happen differs between them. It has all of the state, not a hash of it.
func (w *world) encode(b []byte) []byte {
	for s := range w.trees {
		if s == follower && !w.hasFollower {
			continue
		}
		for p := range w.trees[s] {
			d := &w.trees[s][p]
			b = append(b, bit(d.up)|d.gen<<1, d.next, d.n)
			for _, n := range d.nodes[:d.n] {
				b = append(b, byte(n.id), n.seq, byte(n.kind))
			}
		}
	}
	b = append(b, w.nbehind)
	for _, p := range w.behind[:w.nbehind] {
		b = append(p.r.encode(b), byte(p.to))
	}
	for i := range w.conns {
		b = w.conns[i].encode(b)
		b = w.sess[i].encode(b)
		for k := range w.sess[i].tasks {
			b = append(b, w.truth[w.sess[i].tasks[k].id], w.truth[w.sess[i].tasks[k].its])
		}
	}
	l := w.left
	b = append(b, l.cuts, l.reaps, l.hands, l.silences, l.cancels, l.crashes, l.requeues, l.swaps, l.downs, l.lingers, l.evicts)
	return append(b, bit(w.bad != ""))
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

func (r request) encode(b []byte) []byte {
	return append(b, byte(r.op), r.task|r.mask<<4, byte(r.id), byte(r.old), byte(r.kind), r.seq)
}

func (c *conn) encode(b []byte) []byte {
	b = append(b, c.srv|byte(c.link)<<1|bit(c.busy)<<4, c.seen, c.nin|c.nout<<4)
	for _, r := range c.in[:c.nin] {
		b = r.encode(b)
	}
	for _, m := range c.out[:c.nout] {
		b = append(b, byte(m.op), m.task|byte(m.res)<<4, byte(m.id), m.path, m.seqs[0], m.seqs[1], byte(m.block), m.flags, m.gen, m.at)
	}
	b = binary.LittleEndian.AppendUint32(b, c.nodes[0])
	b = binary.LittleEndian.AppendUint32(b, c.nodes[1])
	return append(b, c.dirs)
}

func (s *session) encode(b []byte) []byte {
	b = append(b, bit(s.stale)|bit(s.over)<<1|bit(s.crash)<<2|bit(s.forget)<<3)
	for k := range s.tasks {
		b = s.tasks[k].encode(b)
	}
	for p := range s.known {
		n := &s.known[p]
		b = append(b, bit(n.valid)|bit(n.alone)<<1|bit(n.guarded)<<2|byte(n.kind)<<3, byte(n.id), n.last, n.gen, byte(n.gone), byte(n.watch), n.parent)
	}
	return b
}

func (t *task) encode(b []byte) []byte {
	if t.mask == 0 {
		return append(b, 0)
	}
	flags := bit(t.made) | bit(t.number)<<1 | bit(t.newPath)<<2 | bit(t.parent)<<3 | bit(t.waited)<<4 | bit(t.swaps)<<5 | bit(t.sole)<<6 | bit(t.fired)<<7
	more := bit(t.ownArmed) | bit(t.ownGone)<<1 | bit(t.unknown)<<2 | byte(t.refused)<<3 | t.passed<<5 | bit(t.peeked)<<7
	return append(b, t.mask|byte(t.phase)<<2, byte(t.kind)|bit(t.try)<<1, t.cycles, t.next, byte(t.id), t.seq[0], t.seq[1], t.wait, flags, more,
		t.saw[0], t.saw[1], byte(t.block[0]), byte(t.block[1]), t.gen[0], t.gen[1], byte(t.its), t.at, byte(t.old))
}
