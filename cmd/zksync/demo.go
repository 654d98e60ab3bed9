package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/demo"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// newDemo returns the command "demo".
func newDemo() *cobra.Command {
	var workers int
	length := seconds(10 * time.Second)
	cmd := &cobra.Command{
		Use:                   "demo [flags]",
		Short:                 "Show a lock at work, and what happens to it under faults",
		Long:                  demo.Help,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := time.Duration(length)
			switch {
			case len(args) > 0:
				return exit.Usagef("demo takes no arguments, only flags")
			case workers < demo.MinWorkers || workers > demo.MaxWorkers:
				return exit.Usagef("--workers %d: want %d to %d", workers, demo.MinWorkers, demo.MaxWorkers)
			case d < demo.MinLength || d > demo.MaxLength:
				return exit.Usagef("--duration %v: want 6s to 1m", d)
			}
			return demo.Run(cmd.OutOrStdout(), workers, d)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&workers, "workers", 4, "number of processes that share the lock, 2 to 9")
	f.Var(&length, "duration", "length of the demo, 6s to 1m")
	return cmd
}

// newWorker returns the hidden command that the demo's worker processes run.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    demo.WorkerCommand + " SERVER NAME",
		Short:  "A worker of the demo",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE:   func(_ *cobra.Command, args []string) error { return demo.Work(args[0], args[1]) },
	}
}
