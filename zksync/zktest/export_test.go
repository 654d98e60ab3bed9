package zktest

// Pids returns the process ids of the servers that run.
func (e *Ensemble) Pids() []int {
	var pids []int
	for _, s := range e.servers {
		if e.state(s).running {
			pids = append(pids, s.proc.pid())
		}
	}
	return pids
}

// Dir is the directory that the ensemble has made for its files.
func (e *Ensemble) Dir() string { return e.dir }

// WithPorts takes the ports from pick, which gets the usual one to fall back on.
func WithPorts(pick func(usual func() (int, error)) (int, error)) EnsembleOption {
	return func(c *ensembleConfig) {
		c.pickPort = func() (int, error) { return pick(ports.pick) }
	}
}

// ElectionLink returns the address at which the first of two servers reaches
// the second for elections, and the one for the way back.
func ElectionLink(quorum, election [2]int) (there, back string, closeAll func(), err error) {
	ls, err := newLinks(quorum[:], election[:])
	if err != nil {
		return "", "", nil, err
	}
	return ls[[2]int{0, 1}].election.addr(), ls[[2]int{1, 0}].election.addr(), ls.close, nil
}
