package conn

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Outcome classifies a request by its error.
type Outcome int

const (
	// Answered means that a server has answered, and that the error says what the
	// request did.
	Answered Outcome = iota
	// NotSent means that the request was not sent. It is safe to repeat it.
	NotSent
	// Unknown means that the request was or may still be carried out, or not.
	Unknown
)

// Classify returns what err says about the request that returned it. An error that is
// not known to be definite is Unknown: the client returns the network's error when a
// write fails (conn.go:754), and makes a new error of each server code that it has no
// name for (constants.go:154).
func Classify(err error) Outcome {
	var size *SizeError
	switch {
	case err == nil, errors.As(err, &size): // refused here, as a server would
		return Answered
	case errors.Is(err, errNotSent), errors.Is(err, zk.ErrNoServer), errors.Is(err, ErrClosed),
		errors.Is(err, zk.ErrSessionExpired): // a server refused it; the next session may repeat it
		return NotSent
	}
	for _, e := range definite {
		if errors.Is(err, e) {
			return Answered
		}
	}
	switch Code(err) {
	case codeUnimplemented, codeQuotaExceeded:
		return Answered
	case codeThrottled:
		return NotSent
	}
	return Unknown
}

// definite are the errors that only a server's answer becomes.
var definite = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNotEmpty,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrInvalidFlags,
	zk.ErrBadArguments, zk.ErrAuthFailed,
}

const (
	codeUnimplemented = -6
	codeQuotaExceeded = -125
	codeThrottled     = -127
)

// unnamed is how the text of an error begins that stands for a code without a name.
const unnamed = "unknown error: "

// Code returns the server's error code, if it is one that the client has no name for
// and puts into the text of the error. Otherwise it returns 0.
func Code(err error) int {
	if err == nil || !strings.HasPrefix(err.Error(), unnamed) {
		return 0
	}
	n, _ := strconv.Atoi(err.Error()[len(unnamed):])
	return n
}

// Unimplemented reports whether the server does not know the operation.
func Unimplemented(err error) bool { return Code(err) == codeUnimplemented }

// proves reports whether a write with this result was answered by the quorum: it has
// succeeded, or was refused with an error that the leader decides on.
func proves(err error) bool {
	return err == nil || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) ||
		errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNotEmpty)
}
