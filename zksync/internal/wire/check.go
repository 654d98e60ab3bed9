package wire

import "fmt"

// CheckReply reports whether go-zookeeper v1.0.4 can decode body, which follows the
// header of a reply to op without an error. Everything that the client reads must lie
// within body, no string or vector may have a negative length, no vector may claim
// more items than there are bytes for, and a multi's results must be complete and of
// the kinds that the client knows. More bytes after that are tolerated. So is any body
// of an op that is not known here, because the client never sends that op.
//
// The error wraps ErrMalformed. The server has then carried out the request all the
// same; only the answer can't be read.
func CheckReply(op Op, body []byte) error {
	d := NewDecoder(body)
	switch op {
	case OpCreate, OpCreateContainer, OpCreateTTL, OpSync:
		// In the answers to the middle two a Stat follows. The client does not
		// read it.
		d.text()
	case OpCreate2:
		d.text()
		d.skipStat()
	case OpExists, OpSetData, OpSetACL, OpCheck:
		d.skipStat()
	case OpGetData, OpReconfig:
		d.Buffer()
		d.skipStat()
	case OpGetACL:
		d.skipACLs()
		d.skipStat()
	case OpGetChildren:
		d.skipStrings()
	case OpGetChildren2:
		d.skipStrings()
		d.skipStat()
	case OpMulti:
		d.skipMulti()
	case OpAddWatch:
		d.Int32()
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("reply to %v: %w", op, err)
	}
	return nil
}

// CheckEvent reports whether body, which follows the header of a frame with xid
// -1, is a watch event that go-zookeeper v1.0.4 can decode. It refuses an event whose
// type is not positive: the client would pass it on as one of its own events about
// the session. The error wraps ErrMalformed.
func CheckEvent(body []byte) error {
	d := NewDecoder(body)
	kind := d.Int32()
	d.Int32()
	d.text()
	if d.err == nil && kind <= 0 {
		d.fail("event of type %d", kind)
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return nil
}

func (d *Decoder) skipStat() { d.take(statLen, "stat") }

func (d *Decoder) skipStrings() {
	for range d.Count(4) {
		d.text()
	}
}

func (d *Decoder) skipACLs() {
	for range d.Count(aclLen) {
		d.Int32()
		d.text()
		d.text()
	}
}

// skipMulti reads the results of a multi, and the header that ends them.
func (d *Decoder) skipMulti() {
	for d.err == nil {
		h := d.MultiHeader()
		if d.err != nil || h.Done {
			return
		}
		switch h.Type {
		case OpError:
			d.Int32()
		case OpCreate:
			d.text()
		case OpSetData:
			d.skipStat()
		case OpDelete, OpCheck:
		default:
			d.fail("multi result of type %v", h.Type)
		}
	}
}
