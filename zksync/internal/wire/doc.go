// Package wire encodes and decodes ZooKeeper's protocol: frames, headers and the
// records in them. It also checks the bytes that a server has sent.
//
// A frame is a four-byte big-endian length and that many bytes of payload. The
// payload of the first frame in each direction is a connect record; every later
// payload starts with a header. All numbers are big-endian.
//
// The package knows nothing of connections, sessions or time, holds no state
// and starts no goroutine. Records are plain values: they may be copied and
// compared as their fields allow, and different goroutines may use different
// copies. No function of the package panics, whatever bytes it gets.
//
// The checks exist because the client underneath, go-zookeeper v1.0.4, trusts its
// server. A reply of fewer than 16 bytes, a multi result that ends in the middle of a
// header, or a vector that claims four thousand million items ends the whole process.
// A string that is longer than its frame is filled up with bytes of an earlier frame.
package wire
