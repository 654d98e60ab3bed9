module example.com/api

go 1.25.0

require (
	github.com/spf13/cobra v1.7.0
	go.opentelemetry.io/otel v1.16.0
	go.opentelemetry.io/otel/trace v1.16.0
	google.golang.org/grpc v1.58.0
)
