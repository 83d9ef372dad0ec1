package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

type checkOptions struct {
	manifests cli.ManifestFlags
	output    string
	strict    bool
}

// Command returns libretto check.
func Command(w cli.Process) *cobra.Command {
	o := &checkOptions{}
	c := &cobra.Command{
		Use:   "check -f FILE|DIRECTORY|-",
		Short: "Check definitions and their scripts without a cluster",
		Long: `Check definitions and their scripts without a cluster.

Definitions are validated as the API server does, resources are looked up among
the built-in ones and the given CustomResourceDefinitions, and scripts are
compiled as the host does, in worker processes, and compared with the schemas of
the objects that they read and answer. Nothing is run and nothing is sent.

The exit code is 0 if there are no errors, 1 if there are, and 2 if the command
could not be run. Findings go to standard output.`,
		Example: `  libretto check -f controller/
  kustomize build overlays/prod | libretto check -f - --strict
  libretto check -f controller.yaml --scripts default/hooks=src`,
		RunE: func(c *cobra.Command, args []string) error { return runCheck(c.Context(), w, o, args) },
	}
	o.manifests.AddTo(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", "text", "format: "+strings.Join(Formats, ", ")+" (annotations of a workflow)")
	cli.LimitFlag(c, "output", Formats...)
	c.Flags().BoolVar(&o.strict, "strict", false, "exit with 1 for warnings too")
	cli.Finish(c, cli.Conduct{
		Success: "no errors", Problems: "an error was found, or with `--strict` a warning",
		Cannot: "a bad flag, an unreadable file, no definition",
		Stdin:  "with `-f -`", Stdout: "findings", Stderr: "files that are left out; with `-o github` the summary", Colour: "`-o text`",
	})
	return c
}

// runCheck checks, and returns an *cli.ExitError unless all is well.
func runCheck(ctx context.Context, w cli.Process, o *checkOptions, args []string) error {
	return Files(ctx, w, &o.manifests, args, func(set *manifest.Set, _ *engines.Registry, result *Result) error {
		for _, file := range set.Skipped {
			fmt.Fprintf(w.Stderr, "%s: left out: it is no manifest\n", file)
		}
		if err := result.Write(w.Stdout, o.output, w.IsColoured()); err != nil {
			return cli.Cannot(err)
		}
		if o.output == "github" {
			fmt.Fprintln(w.Stderr, result.Summary())
		}
		if result.Count(Error) > 0 || o.strict && result.Count(Warning) > 0 {
			return cli.ExitWith(cli.ExitProblems, nil)
		}
		return nil
	})
}

// Files loads and checks files, and calls then while the engines run. Its errors have exit codes.
func Files(
	ctx context.Context, w cli.Process, files *cli.ManifestFlags, args []string, then func(*manifest.Set, *engines.Registry, *Result) error,
) error {
	options, err := files.Options(args, w.Stdin)
	if err != nil {
		return cli.Cannot(err)
	}
	defer cli.CollectSeldom()()
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	set, err := manifest.Load(ctx, options)
	if err != nil {
		return cli.Cannot(err)
	}
	if len(set.Definitions) == 0 && len(set.Problems) == 0 {
		return cli.Cannot(errors.New(set.NoDefinition()))
	}
	result, err := Run(ctx, set, registry)
	if err != nil {
		return cli.Cannot(err)
	}
	return then(set, registry, result)
}

// Passing does so if nothing is found that the host would not accept or not load. Otherwise it writes what is found to standard error.
func Passing(
	ctx context.Context, w cli.Process, files *cli.ManifestFlags, args []string, then func(*manifest.Set, *engines.Registry) error,
) error {
	return Files(ctx, w, files, args, func(set *manifest.Set, registry *engines.Registry, result *Result) error {
		if result.Count(Error) == 0 {
			return cli.Cannot(then(set, registry))
		}
		if err := result.Write(w.Stderr, "text", false); err != nil {
			return cli.Cannot(err)
		}
		return cli.ExitWith(cli.ExitProblems, nil)
	})
}
