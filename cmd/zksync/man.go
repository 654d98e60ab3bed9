package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// newMan returns the command "man".
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: "Write one manual page for each command of zksync into the directory DIR, which is\n" +
			"made if it does not exist. The date in the pages is that of SOURCE_DATE_EPOCH in\n" +
			"the environment, or today's.",
		Example: "  zksync man ~/.local/share/man/man1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("want one DIR, have %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = doc.GenManTree(cmd.Root(), &doc.GenManHeader{Source: "zksync " + thisBuild().Version, Manual: "zksync"}, args[0])
			}
			if err != nil {
				return &exit.Error{Code: exit.OS, Err: err}
			}
			return nil
		},
	}
}
