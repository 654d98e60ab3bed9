package conn

// queue is a queue of calls. The zero value is empty.
type queue struct {
	calls []*call
	head  int
}

func (q *queue) len() int     { return len(q.calls) - q.head }
func (q *queue) all() []*call { return q.calls[q.head:] }
func (q *queue) push(k *call) { q.calls = append(q.calls, k) }

// first returns the first call, or nil.
func (q *queue) first() *call {
	if q.len() == 0 {
		return nil
	}
	return q.calls[q.head]
}

// pop removes the first call.
func (q *queue) pop() {
	q.calls[q.head] = nil
	q.head++
	switch {
	case q.len() == 0:
		q.calls, q.head = q.calls[:0], 0
	case q.head >= 32 && q.head > len(q.calls)/2:
		n := copy(q.calls, q.calls[q.head:])
		clear(q.calls[n:])
		q.calls, q.head = q.calls[:n], 0
	}
}
