module github.com/zklocker/go-zksync/cmd/zksync

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/spf13/cobra v1.8.1
	github.com/spf13/pflag v1.0.5
	github.com/zklocker/go-zksync v0.1.0
	go.opentelemetry.io/otel v1.25.0
	go.opentelemetry.io/otel/exporters/stdout/stdouttrace v1.25.0
	go.opentelemetry.io/otel/metric v1.25.0
	go.opentelemetry.io/otel/sdk v1.25.0
	go.opentelemetry.io/otel/sdk/metric v1.25.0
	go.opentelemetry.io/otel/trace v1.25.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/go-logr/logr v1.4.1 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/sync v0.10.0 // indirect
	golang.org/x/sys v0.18.0 // indirect
)
