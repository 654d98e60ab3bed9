package conn

import "github.com/zklocker/go-zksync/zksync/internal/wire"

// programWatches has the paths on which the program may have watches on a connection, as
// its client has asked for them there. The zero value has none.
type programWatches struct {
	paths map[string]struct{}
	any   bool // it may have watches everywhere
}

// maxTheirs bounds the paths. With more, the program may have watches everywhere.
const maxTheirs = 1000

// may reports whether the program may have a watch on a path.
func (w *programWatches) may(path string) bool {
	_, is := w.paths[path]
	return is || w.any
}

// see reads a frame of the client.
func (w *programWatches) see(frame []byte) {
	h, body, err := wire.ParseRequestHeader(frame[wire.FrameHeader:])
	if err != nil || w.any {
		return
	}
	d := wire.NewDecoder(body)
	switch h.Op {
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		if path := d.String(); d.Bool() {
			w.add(path)
		}
	case wire.OpSetWatches, wire.OpSetWatches2:
		d.Int64()
		for d.Len() > 0 && d.Err() == nil {
			for _, path := range d.Strings() {
				w.add(path)
			}
		}
	case wire.OpAddWatch:
		w.any = true
	}
	w.any = w.any || d.Err() != nil || len(w.paths) > maxTheirs
	if w.any {
		w.paths = nil
	}
}

func (w *programWatches) add(path string) {
	if w.paths == nil {
		w.paths = make(map[string]struct{})
	}
	w.paths[path] = struct{}{}
}
