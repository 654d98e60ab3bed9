package demo

// store is what the lock protects. It refuses a write whose fence is smaller than
// the largest that it has seen. The zero value is empty.
type store struct {
	fence             int64 // the largest so far
	accepted, refused int
}

// write reports whether the store accepts a write.
func (s *store) write(fence int64) bool {
	if fence < s.fence {
		s.refused++
		return false
	}
	s.fence = fence
	s.accepted++
	return true
}
