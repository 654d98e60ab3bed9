package control

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/suggest"
)

// The requests that a [match] does not choose like any other.
const (
	opConnect = "connect"
	opPing    = "ping"
)

// ops are the requests that are recorded.
var ops = append([]string{opConnect}, strings.Fields(`
	create create2 createContainer createTTL delete deleteContainer exists getData setData getACL setACL
	getChildren getChildren2 getAllChildrenNumber getEphemerals sync check multi multiRead reconfig
	addWatch checkWatches removeWatches setWatches setWatches2 auth sasl whoAmI createSession closeSession`)...)

// unknownOp is how a request is recorded that no ZooKeeper knows.
var unknownOp = regexp.MustCompile(`^Op\(-?[0-9]+\)$`)

// results are what a request may come to.
var results = strings.Fields(`
	OK NoNode NodeExists NotEmpty BadVersion NoAuth AuthFailed InvalidACL NoChildrenForEphemerals BadArguments
	SessionExpired SessionMoved UnknownSession NoWatcher MarshallingError Unimplemented APIError SystemError
	RuntimeInconsistency DataInconsistency ConnectionLoss OperationTimeout RequestTimeout InvalidCallback
	NewConfigNoQuorum ReconfigInProgress ReconfigDisabled NotReadOnly EphemeralOnLocalSession SASLRequired
	QuotaExceeded ThrottledOp`)

// checkOp checks the name of a request, which may be empty.
func checkOp(op string) error {
	if op == opPing {
		return badf("op=%q: pings are neither recorded nor lost; blackhole holds them back", op)
	}
	if unknownOp.MatchString(op) {
		return nil
	}
	return checkWord("op", op, "request", ops)
}

// checkResult checks the name of a result, which may be empty.
func checkResult(result string) error { return checkWord("result", result, "result", results) }

// checkWord checks that a parameter is empty or one of words. A misspelt one would choose
// nothing, and nobody would notice.
func checkWord(name, word, kind string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	if near := suggest.Names(word, words); near != nil {
		return badf("%s=%q: no such %s; did you mean %s?", name, word, kind, strings.Join(near, " or "))
	}
	return badf("%s=%q: no such %s; want %s", name, word, kind, strings.Join(words, ", "))
}
