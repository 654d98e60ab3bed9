package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// server is one "zksync serve".
type server struct {
	listen       string
	members      int
	control      string // "": no control port
	controlHosts []string
	tick         seconds
	maxTimeout   seconds
	users        users
	untilEOF     bool
	verbose      bool

	opts []zktest.Option // of users

	stdin          io.Reader
	stdout, stderr io.Writer
}

// newServe returns the command "serve".
func newServe() *cobra.Command {
	s := &server{tick: seconds(500 * time.Millisecond), maxTimeout: seconds(time.Minute)}
	cmd := &cobra.Command{
		Use:                   "serve [flags]",
		Short:                 "Run a ZooKeeper in memory that keeps nothing, for tests",
		Long:                  serveLong,
		Example:               serveExample,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.parse(args); err != nil {
				return err
			}
			s.stdin, s.stdout, s.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return s.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.listen, "listen", "127.0.0.1:2181", "`address` to listen on, as host:port; port 0 takes a free one")
	f.IntVar(&s.members, "members", 1, "`number` of servers; those after the first listen on the ports after its port")
	f.StringVar(&s.control, "control", "", "`address` of the control port, which is HTTP; port 0 takes a free one")
	f.StringSliceVar(&s.controlHosts, "control-host", nil, "another `name` that requests to the control port may call this machine by")
	f.Var(&s.tick, "tick", "sessions end at whole ticks, and get a timeout of two ticks or more")
	f.Var(&s.maxTimeout, "max-session-timeout", "the longest session timeout to grant")
	s.users.addFlags(f)
	f.BoolVar(&s.untilEOF, "until-eof", false, "end at the end of stdin, too")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log sessions and requests on stderr")
	return cmd
}

// parse checks the command line.
func (s *server) parse(args []string) error {
	if len(args) > 0 {
		return exit.Usagef("serve takes no arguments, only flags")
	}
	if err := checkListen("--listen", s.listen); err != nil {
		return err
	}
	if s.control != "" {
		if err := checkListen("--control", s.control); err != nil {
			return err
		}
	}
	tick, longest := time.Duration(s.tick), time.Duration(s.maxTimeout)
	switch {
	case s.members < 1 || s.members > maxMembers:
		return exit.Usagef("--members %d: want 1 to %d", s.members, maxMembers)
	case len(s.controlHosts) > 0 && s.control == "":
		return exit.Usagef("--control-host has no meaning without --control")
	case tick < time.Millisecond || tick > time.Minute:
		return exit.Usagef("--tick %v: want 1ms to 1m", tick)
	case longest < 2*tick || longest > 24*time.Hour:
		return exit.Usagef("--max-session-timeout %v: want two ticks (%v) to 24h", longest, 2*tick)
	}
	var err error
	s.opts, err = s.users.options()
	return err
}

// run serves until it is told to end.
func (s *server) run() error {
	sigs := process.CatchSignals()
	opts := append(s.opts,
		zktest.WithTick(time.Duration(s.tick)),
		zktest.WithFourLetterWords("*"),
		zktest.WithSessionLimits(2*time.Duration(s.tick), time.Duration(s.maxTimeout)),
	)
	if s.verbose {
		opts = append(opts, zktest.WithLogger(slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	}
	srv := zktest.New(opts...)
	defer srv.Close()
	addresses, err := s.open(srv)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	control, end, err := s.openControl(srv, addresses, failed)
	if err != nil {
		return err
	}
	defer end()
	if err := s.announce(addresses, control); err != nil {
		return &exit.Error{Code: exit.OS, Err: fmt.Errorf("can't print the address: %w", err)}
	}
	return s.await(sigs, failed)
}

// await waits for a reason to end.
func (s *server) await(sigs <-chan os.Signal, failed <-chan error) error {
	var eof chan struct{}
	if s.untilEOF {
		eof = make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, s.stdin) // an error is an end as well
			close(eof)
		}()
	}
	for {
		select {
		case sig := <-sigs:
			if process.AsksToEnd(sig) {
				return nil
			}
		case <-eof:
			return nil
		case err := <-failed:
			return &exit.Error{Code: exit.Unavailable, Err: err}
		}
	}
}

// announce says where the servers are, and what they are not. control is empty if there
// is no control port.
func (s *server) announce(addresses []string, control string) error {
	list := strings.Join(addresses, ",")
	fmt.Fprintf(s.stderr, "zksync: ZooKeeper in memory on %s, for tests: it keeps nothing, and all is gone when it ends\n", list)
	if isOpen(addresses[0]) {
		fmt.Fprintln(s.stderr, "zksync: other machines may reach this address: who does can read and write everything")
	}
	lines := list + "\n"
	if control != "" {
		lines += "http://" + control + "\n"
	}
	if isOpen(control) {
		fmt.Fprintln(s.stderr, "zksync: other machines may reach the control port: who does can read everything and make every fault")
	}
	_, err := io.WriteString(s.stdout, lines)
	return err
}
