module github.com/zklocker/go-zksync

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/go-zookeeper/zk v1.0.4
	github.com/spf13/cobra v1.8.1
	github.com/spf13/pflag v1.0.5
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.10.0
)

require github.com/inconshreveable/mousetrap v1.1.0 // indirect
