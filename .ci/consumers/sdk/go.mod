module example.com/sdk

go 1.25.0

require (
	github.com/spf13/cobra v1.7.0
	go.opentelemetry.io/otel v1.20.0
	go.opentelemetry.io/otel/sdk v1.20.0
	google.golang.org/grpc v1.58.0
)
