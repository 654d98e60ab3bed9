// Command api is a program with an OpenTelemetry API that is older than what
// package tracing requires. .ci/run adds the library to it, and checks that the API
// moves to that version and no further.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/zklocker/go-zksync/zksync"
)

func main() {
	server := grpc.NewServer()
	defer server.Stop()
	cmd := &cobra.Command{Use: "api", Run: func(*cobra.Command, []string) {
		_, span := otel.Tracer("api").Start(context.Background(), "run", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
		println(zksync.ErrLost.Error())
	}}
	if err := cmd.Execute(); err != nil {
		panic(err)
	}
}
