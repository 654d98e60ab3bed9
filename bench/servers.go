package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The program starts itself again as the server of etcd, so that each server is a
// process of its own.
const (
	envRole  = "ZKSYNC_BENCH_ROLE"
	envDir   = "ZKSYNC_BENCH_DIR"
	envAddr  = "ZKSYNC_BENCH_ADDR"
	roleEtcd = "etcd"
)

// servers are one of each kind.
type servers struct {
	zookeeper, etcd, redis string // addresses
	about                  string
	ends                   []func()
}

// start starts the servers; fsync is for Redis. After an error stop ends those that it has started.
func start(dir string, fsync bool) (*servers, error) {
	s := new(servers)
	var zk, redis string
	var err error
	if zk, err = s.startZooKeeper(dir); err != nil {
		return s, err
	}
	if err = s.startEtcd(dir); err != nil {
		return s, err
	}
	if redis, err = s.startRedis(dir, fsync); err != nil {
		return s, err
	}
	s.about = fmt.Sprintf("ZooKeeper: %s. etcd: its package embed, in a process of its own. Redis: %s.", zk, redis)
	return s, nil
}

// stop ends the servers, the last one first.
func (s *servers) stop() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
}

func (s *servers) startZooKeeper(dir string) (about string, err error) {
	e, err := ensemble.New(dir, 1)
	if errors.Is(err, ensemble.ErrNoZooKeeper) {
		srv := zktest.New(zktest.WithSessionLimits(time.Second, time.Minute))
		s.zookeeper, s.ends = srv.Addr(), append(s.ends, srv.Close)
		return "NOT A REAL ONE, but package zktest's, in this process and in memory", nil
	}
	if err != nil {
		return "", err
	}
	s.zookeeper, s.ends = e.Addr(0), append(s.ends, func() { e.Close() })
	return "one server, in a process of its own", nil
}

// startEtcd starts this program again as etcd. It ends when its stdin does, and so at
// the latest with this process.
func (s *servers) startEtcd(dir string) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envRole+"="+roleEtcd, envDir+"="+filepath.Join(dir, "etcd"), envAddr+"="+addr)
	s.etcd = addr
	return s.startProcess(cmd, addr)
}

// startRedis starts redis-server, or miniredis in this process where there is none.
func (s *servers) startRedis(dir string, fsync bool) (about string, err error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		mini, err := miniredis.Run()
		if err != nil {
			return "", err
		}
		s.redis, s.ends = mini.Addr(), append(s.ends, mini.Close)
		return "NOT A REAL ONE, but miniredis, in this process", nil
	}
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	host, port, _ := net.SplitHostPort(addr)
	log, about := "no", "in memory: a server that crashes forgets its locks"
	if fsync {
		log, about = "yes", "each write on its disk"
	}
	// It ends with its guard, which ends when its stdin does.
	cmd := exec.Command("sh", "-c", `redis-server --bind "$1" --port "$2" --dir "$3" --save "" --appendonly "$4" --appendfsync always &
		cat; kill $!; wait`, "sh", host, port, dir, log)
	s.redis = addr
	return "one server, in a process of its own, " + about, s.startProcess(cmd, addr)
}

// startProcess starts a server that ends when its stdin does, and waits until it
// accepts connections.
func (s *servers) startProcess(cmd *exec.Cmd, addr string) error {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	log := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 300 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			s.ends = append(s.ends, func() { stdin.Close(); <-ended })
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended: %w\n%s", cmd.Args, err, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	stdin.Close()
	<-ended
	return fmt.Errorf("%s does not answer\n%s", cmd.Args, log)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// serveEtcd is this program as the server of etcd.
func serveEtcd() {
	signal.Ignore(os.Interrupt) // Ctrl-C is for the program that has started this one
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = os.Getenv(envDir), "error"
	client := url.URL{Scheme: "http", Host: os.Getenv(envAddr)}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	e.Close()
}
