// Package rollout implements libretto rollout: how far an edit of scripts has come, and what lets it through, pauses it or takes it back.
package rollout

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// Command returns libretto rollout.
func Command(w cli.Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Tell how far an edit of scripts has come, let it through, pause it",
		Long:  "Tell how far an edit of the scripts of a definition has come, let it through, pause it.",
		RunE: func(*cobra.Command, []string) error {
			return cli.Cannot(errors.New("rollout: name what to do: status, approve, promote, abort, pause or resume"))
		},
	}
	c.AddCommand(statusCommand(w), approveCommand(w), pauseCommand(w, true), pauseCommand(w, false))
	c.AddCommand(promoteCommand(w), abortCommand(w))
	return c
}
