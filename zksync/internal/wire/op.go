package wire

//go:generate go run golang.org/x/tools/cmd/stringer@v0.52.0 -type=Op -linecomment

// Op is the type of a request, the second field of its header. String returns
// ZooKeeper's own name of the request, such as "getChildren2", or "Op(77)" for an
// unknown one. The zero value is OpNotify. Any goroutine may call the methods.
type Op int32

// The request types of ZooKeeper 3.9, with the names that String returns. OpError
// appears only in the result of a multi.
const (
	OpCloseSession         Op = -11 // closeSession
	OpClose                   = OpCloseSession
	OpCreateSession        Op = -10 // createSession
	OpError                Op = -1  // error
	OpNotify               Op = 0   // notify
	OpCreate               Op = 1   // create
	OpDelete               Op = 2   // delete
	OpExists               Op = 3   // exists
	OpGetData              Op = 4   // getData
	OpSetData              Op = 5   // setData
	OpGetACL               Op = 6   // getACL
	OpSetACL               Op = 7   // setACL
	OpGetChildren          Op = 8   // getChildren
	OpSync                 Op = 9   // sync
	OpPing                 Op = 11  // ping
	OpGetChildren2         Op = 12  // getChildren2
	OpCheck                Op = 13  // check
	OpMulti                Op = 14  // multi
	OpCreate2              Op = 15  // create2
	OpReconfig             Op = 16  // reconfig
	OpCheckWatches         Op = 17  // checkWatches
	OpRemoveWatches        Op = 18  // removeWatches
	OpCreateContainer      Op = 19  // createContainer
	OpDeleteContainer      Op = 20  // deleteContainer
	OpCreateTTL            Op = 21  // createTTL
	OpMultiRead            Op = 22  // multiRead
	OpAuth                 Op = 100 // auth
	OpSetWatches           Op = 101 // setWatches
	OpSASL                 Op = 102 // sasl
	OpGetEphemerals        Op = 103 // getEphemerals
	OpGetAllChildrenNumber Op = 104 // getAllChildrenNumber
	OpSetWatches2          Op = 105 // setWatches2
	OpAddWatch             Op = 106 // addWatch
	OpWhoAmI               Op = 107 // whoAmI
)

// Write reports whether the request is a transaction: the server answers it only
// after a quorum has agreed to it. Reads, pings and sync are no transactions: a
// server that has been cut off from its quorum goes on answering them.
func (o Op) Write() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer,
		OpSetData, OpSetACL, OpMulti, OpReconfig, OpCreateSession, OpCloseSession:
		return true
	}
	return false
}

// The xids that stand for a kind of frame, not for one request.
const (
	XidEvent      int32 = -1 // a watch event; no request caused it
	XidPing       int32 = -2
	XidAuth       int32 = -4
	XidSetWatches int32 = -8
)
