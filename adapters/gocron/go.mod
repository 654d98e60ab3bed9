module github.com/zklocker/go-zksync/adapters/gocron

go 1.25.0

require (
	github.com/go-co-op/gocron/v2 v2.5.0
	github.com/zklocker/go-zksync v0.1.0
)

require (
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jonboulle/clockwork v0.4.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/exp v0.0.0-20240416160154-fe59bbe5cc7f // indirect
	golang.org/x/sync v0.10.0 // indirect
)

replace github.com/zklocker/go-zksync => ../..
