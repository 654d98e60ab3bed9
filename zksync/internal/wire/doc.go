// Package wire is ZooKeeper's protocol as bytes: frames, headers, the records
// that travel in them, and checks of what a server has sent.
//
// A frame is a four-byte big-endian length and that many bytes of payload. The
// payload of the first frame each way is a connect record; every later one
// starts with a header. All numbers are big-endian.
//
// The package knows nothing of connections, sessions or time, holds no state
// and starts no goroutine. Records are plain values: they may be copied and
// compared as their fields allow, and different goroutines may use different
// copies. No function in it panics, whatever bytes it is given.
//
// The checks exist because the client underneath, go-zookeeper v1.0.4, trusts
// its server: a reply of fewer than 16 bytes, a multi result that ends in the
// middle of a header, or a vector that claims four thousand million items takes
// the whole process down, and a string that is longer than its frame is filled
// up with bytes of an earlier one.
package wire
