package wire

import "strconv"

// Code is the result of a request, as the server sends it. The zero value is CodeOK.
// Any goroutine may call its methods.
type Code int32

// The codes that a server sends.
const (
	CodeOK                      Code = 0
	CodeSystemError             Code = -1
	CodeRuntimeInconsistency    Code = -2 // in a multi: not tried, because an earlier operation failed
	CodeDataInconsistency       Code = -3
	CodeConnectionLoss          Code = -4
	CodeMarshallingError        Code = -5
	CodeUnimplemented           Code = -6
	CodeOperationTimeout        Code = -7
	CodeBadArguments            Code = -8
	CodeUnknownSession          Code = -12
	CodeNewConfigNoQuorum       Code = -13
	CodeReconfigInProgress      Code = -14
	CodeAPIError                Code = -100
	CodeNoNode                  Code = -101
	CodeNoAuth                  Code = -102
	CodeBadVersion              Code = -103
	CodeNoChildrenForEphemerals Code = -108
	CodeNodeExists              Code = -110
	CodeNotEmpty                Code = -111
	CodeSessionExpired          Code = -112
	CodeInvalidCallback         Code = -113
	CodeInvalidACL              Code = -114
	CodeAuthFailed              Code = -115
	CodeSessionMoved            Code = -118
	CodeNotReadOnly             Code = -119
	CodeEphemeralOnLocalSession Code = -120
	CodeNoWatcher               Code = -121
	CodeRequestTimeout          Code = -122
	CodeReconfigDisabled        Code = -123
	CodeSASLRequired            Code = -124
	CodeQuotaExceeded           Code = -125
	CodeThrottledOp             Code = -127
)

// String returns a short name such as "NoNode", or "code(-99)" for an unknown code.
func (c Code) String() string {
	switch c {
	case CodeOK:
		return "OK"
	case CodeSystemError:
		return "SystemError"
	case CodeRuntimeInconsistency:
		return "RuntimeInconsistency"
	case CodeDataInconsistency:
		return "DataInconsistency"
	case CodeConnectionLoss:
		return "ConnectionLoss"
	case CodeMarshallingError:
		return "MarshallingError"
	case CodeUnimplemented:
		return "Unimplemented"
	case CodeOperationTimeout:
		return "OperationTimeout"
	case CodeBadArguments:
		return "BadArguments"
	case CodeUnknownSession:
		return "UnknownSession"
	case CodeNewConfigNoQuorum:
		return "NewConfigNoQuorum"
	case CodeReconfigInProgress:
		return "ReconfigInProgress"
	case CodeAPIError:
		return "APIError"
	case CodeNoNode:
		return "NoNode"
	case CodeNoAuth:
		return "NoAuth"
	case CodeBadVersion:
		return "BadVersion"
	case CodeNoChildrenForEphemerals:
		return "NoChildrenForEphemerals"
	case CodeNodeExists:
		return "NodeExists"
	case CodeNotEmpty:
		return "NotEmpty"
	case CodeSessionExpired:
		return "SessionExpired"
	case CodeInvalidCallback:
		return "InvalidCallback"
	case CodeInvalidACL:
		return "InvalidACL"
	case CodeAuthFailed:
		return "AuthFailed"
	case CodeSessionMoved:
		return "SessionMoved"
	case CodeNotReadOnly:
		return "NotReadOnly"
	case CodeEphemeralOnLocalSession:
		return "EphemeralOnLocalSession"
	case CodeNoWatcher:
		return "NoWatcher"
	case CodeRequestTimeout:
		return "RequestTimeout"
	case CodeReconfigDisabled:
		return "ReconfigDisabled"
	case CodeSASLRequired:
		return "SASLRequired"
	case CodeQuotaExceeded:
		return "QuotaExceeded"
	case CodeThrottledOp:
		return "ThrottledOp"
	}
	return "code(" + strconv.Itoa(int(c)) + ")"
}
