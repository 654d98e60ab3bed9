// Package sdktest tests package tracing with OpenTelemetry's SDK. It has no code.
//
// The tests are in the command's module. If they were in the module of the
// library, its go.mod would require the SDK, and a program with an older SDK that
// adds the library would get this one.
package sdktest
