// Package digestmd5 is the server's side of SASL's mechanism DIGEST-MD5 (RFC 2831),
// without integrity protection and encryption. Where the RFC leaves a choice, it does as
// the JDK does, which ZooKeeper uses.
//
//   - exchange.go: the challenge, and the check of the client's response.
//   - directives.go: reads the list of names and values that a response is.
package digestmd5
