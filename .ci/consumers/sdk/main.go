// Command sdk is a program with older versions of what the command zksync or its
// like use. .ci/run adds the library to it, and checks that it keeps them.
package main

import (
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	"github.com/zklocker/go-zksync/zksync"
)

func main() {
	otel.SetTracerProvider(sdk.NewTracerProvider())
	server := grpc.NewServer()
	defer server.Stop()
	cmd := &cobra.Command{Use: "sdk", Run: func(*cobra.Command, []string) { println(zksync.ErrLost.Error()) }}
	if err := cmd.Execute(); err != nil {
		panic(err)
	}
}
