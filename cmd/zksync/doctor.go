package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/doctor"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
)

// examiner is one "zksync doctor".
type examiner struct {
	config
	path    string
	timeout seconds
	output  output
	stdout  io.Writer
}

// newDoctor returns the command "doctor".
func newDoctor() *cobra.Command {
	e := &examiner{output: outputTable}
	cmd := &cobra.Command{
		Use:                   "doctor [flags]",
		Short:                 "Examine a ZooKeeper ensemble, and say what to do about it",
		Long:                  doctor.Help,
		Example:               "  zksync doctor --servers zk1:2181,zk2:2181,zk3:2181 --path /locks\n  zksync doctor -o json | jq -r '.findings[] | select(.level == \"problem\").text'",
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("doctor takes no arguments, only flags")
			}
			e.stdout = cmd.OutOrStdout()
			return e.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&e.path, "path", "/", "the `node` below which the locks are to be")
	f.VarP(&e.output, "output", "o", "print a `table` or json")
	f.Var(&e.timeout, "timeout", "end the whole command with an error after this time; 0: no limit")
	e.addConnection(f)
	f.Var(&e.sessionTimeout, "session-timeout", "session timeout to ask for")
	e.connectTimeout = seconds(5 * time.Second)
	patience := f.Lookup("connect-timeout")
	patience.Usage, patience.DefValue = "wait at most this long for the answer to each request", e.connectTimeout.String()
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(outputTable), string(outputJSON)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// run examines and prints.
func (e *examiner) run() error {
	d, err := e.doctor()
	if err != nil {
		return err
	}
	report, err := e.examine(d)
	if err != nil {
		return err
	}
	report.Judge(time.Now())
	if err := e.print(report); err != nil {
		return &exit.Error{Code: exit.OS, Err: err}
	}
	switch {
	case !report.Reached() && report.Mute():
		return &exit.Error{Code: exit.Unavailable, Err: errors.New("no server answers a write")}
	case !report.Reached():
		return &exit.Error{Code: exit.Unavailable, Err: errors.New("no server gives a session")}
	case report.Refused():
		return &exit.Error{Code: exit.NoPermission, Err: errors.New("all servers refuse the credentials")}
	case !report.Healthy:
		return &exit.Error{Code: exit.Conflict}
	}
	return nil
}

// examine runs the doctor, until a signal asks for an end or --timeout is over.
func (e *examiner) examine(d *doctor.Doctor) (*doctor.Report, error) {
	type result struct {
		report *doctor.Report
		err    error
	}
	sigs := process.CatchSignals()
	ctx, cancel := context.WithCancel(context.Background())
	if e.timeout > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), time.Duration(e.timeout))
	}
	defer cancel()
	done := make(chan result, 1)
	go func() {
		report, err := d.Examine(ctx)
		done <- result{report, err}
	}()
	for first := os.Signal(nil); ; {
		select {
		case r := <-done:
			switch {
			case first != nil:
				return nil, exit.Interrupted(first)
			case r.err != nil: // that of ctx
				return nil, &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("not done within %v (--timeout)", time.Duration(e.timeout))}
			}
			return r.report, nil
		case sig := <-sigs:
			switch {
			case !process.AsksToEnd(sig):
			case first != nil: // the servers end the sessions, and with them the nodes
				return nil, exit.Interrupted(first)
			default:
				first = sig
				cancel()
			}
		}
	}
}

// doctor returns the doctor that the command line asks for.
func (e *examiner) doctor() (*doctor.Doctor, error) {
	if err := checkRoot("--path", e.path); err != nil {
		return nil, err
	}
	switch {
	case e.connectTimeout == 0:
		return nil, exit.Usagef("--connect-timeout 0: a doctor does not wait for ever")
	case time.Duration(e.sessionTimeout) < 200*time.Millisecond || time.Duration(e.sessionTimeout) > 24*time.Hour:
		return nil, exit.Usagef("--session-timeout %v: want 200ms to 24h", time.Duration(e.sessionTimeout))
	}
	servers, chroot, err := e.serverList()
	if err != nil {
		return nil, err
	}
	for i, s := range servers {
		if servers[i], err = withPort(s); err != nil {
			return nil, err
		}
	}
	d := &doctor.Doctor{
		Servers: servers, Timeout: time.Duration(e.sessionTimeout), Patience: time.Duration(e.connectTimeout),
		Path: path.Join("/", chroot, e.path), Version: version(),
	}
	if d.Scheme, d.Cred, err = e.auth(); err != nil {
		return nil, err
	}
	d.TLS, err = e.tls()
	return d, err
}

func (e *examiner) print(r *doctor.Report) error {
	if e.output == outputJSON {
		return r.WriteJSON(e.stdout)
	}
	return r.WriteTable(e.stdout, table.NewStyle(e.stdout))
}
