package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// parse checks the command line. The flags up to the first LOCK are read already.
func (r *runner) parse(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	dash := slices.Index(args, "--")
	switch {
	case f.ArgsLenAtDash() == 0:
		return exit.Usagef("no LOCK before --")
	case len(args) == 0:
		return exit.Usagef("no LOCK")
	case dash == len(args)-1:
		return exit.Usagef("no COMMAND after --")
	case dash > 0:
		// Flags may stand anywhere before the dash.
		f.SetInterspersed(true)
		if err := parseMore(f, args[:dash]); err != nil {
			return suggestFlag(cmd, err)
		}
		r.locks.paths, r.argv = f.Args(), args[dash+1:]
		if i := slices.IndexFunc(r.locks.paths, isNoPath); i > 0 {
			return exit.Usagef("the words before -- are locks, and %q is not a path. For a COMMAND with a -- of its own: zksync run %s -- %s ...",
				r.locks.paths[i], r.locks.paths[0], r.locks.paths[i])
		}
	default:
		r.locks.paths, r.argv = args[:1], args[1:]
		if len(r.argv) > 0 && strings.HasPrefix(r.argv[0], "-") {
			// Flags between LOCK and COMMAND.
			if err := parseMore(f, r.argv); err != nil {
				return suggestFlag(cmd, err)
			}
			r.argv = f.Args()
		}
	}
	return r.check(cmd)
}

// parseMore parses flags that come after the first LOCK.
func parseMore(f *pflag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if help, err := f.GetBool("help"); err == nil && help {
		return pflag.ErrHelp // shows the help
	}
	return nil
}

// isNoPath reports whether word can't be the path of a lock.
func isNoPath(word string) bool { return !strings.HasPrefix(word, "/") }

// check checks what the flags say together.
func (r *runner) check(cmd *cobra.Command) error {
	f := cmd.Flags()
	if err := r.locks.check(f); err != nil {
		return err
	}
	r.waitSet = f.Changed("timeout")
	if r.waitSet && r.nonblock {
		return exit.Usagef("-n does not wait, so there is no -w with it")
	}
	if r.waitSet && r.wait == 0 {
		r.nonblock, r.waitSet = true, false // as for flock
	}
	if len(r.argv) == 0 && f.Changed("grace") {
		return exit.Usagef("--grace is for a COMMAND, and there is none")
	}
	return nil
}
