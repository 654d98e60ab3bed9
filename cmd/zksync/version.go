package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// build describes the program.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// thisBuild returns what the Go toolchain recorded.
func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	return b
}

// version returns the version of zksync as text.
func version() string {
	b := thisBuild()
	return fmt.Sprintf("%s (%s %s/%s)", b.Version, b.Go, b.OS, b.Arch)
}

// newVersion returns the command "version".
func newVersion() *cobra.Command {
	format := outputTable
	cmd := &cobra.Command{
		Use:                   "version [flags]",
		Short:                 "Print the version of zksync",
		Args:                  noArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if format == outputJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(thisBuild())
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "zksync", version())
			}
			if err != nil {
				return &exit.Error{Code: exit.OS, Err: err}
			}
			return nil
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "print a `table` or json")
	return cmd
}

// noArgs is the check for a command without arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("want no arguments, have %d", len(args))
	}
	return nil
}
