// Package control is the control port of "zksync serve": it lets a test in any
// language make the faults of the servers, look into them, and wait for a request. It
// speaks HTTP. What a request needs comes in its query, as a form, or as JSON; each
// answer is a document of JSON that schema.json describes.
//
// Invariants: a request with a parameter that is unknown, missing or wrong changes
// nothing. One request changes the servers at a time; those that only look or wait go on
// beside it. No request of a web page changes anything, and none is answered that names
// the server by a name that it does not know (see guard).
//
// Package main opens the ports; this package knows no flags.
package control
