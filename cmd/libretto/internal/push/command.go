// Package push is the command libretto push.
package push

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

type pushOptions struct {
	manifests        cli.ManifestFlags
	source, revision string
	plainHTTP        bool
}

// Command returns libretto push.
func Command(w cli.Process) *cobra.Command {
	o := &pushOptions{}
	c := &cobra.Command{
		Use:   "push oci://HOST/REPOSITORY:TAG DIRECTORY",
		Short: "Push a folder of scripts to an OCI registry",
		Long: `Push a folder of scripts to an OCI registry.

The files of the folder become an image with one layer, which an OCIRepository of
Flux reads, for script sources of kind flux, and which a Pod can mount as an image
volume, for --scripts-dir. Names that begin with a dot or end with a tilde are left
out. The same files make the same digest.

With -f the definitions among those files are checked first, as by libretto check:
what has errors is not pushed. --scripts says which of their sources the folder is.
Credentials are those that docker login has stored, or one of its helpers.`,
		Example: `  libretto push oci://ghcr.io/acme/hooks:v1 src --source https://github.com/acme/hooks --revision main@sha1:4f2a
  libretto push oci://ghcr.io/acme/hooks:v1 src -f definition.yaml --scripts OCIRepository/flux-system/hooks=src`,
		Args: cli.Exactly(2, 2, "the image and the folder: oci://HOST/REPOSITORY:TAG DIRECTORY"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), w, args[0], args[1]) },
	}
	o.manifests.AddTo(c.Flags())
	c.Flags().StringVar(&o.source, "source", "", "address of what the folder is from, for the image's annotations")
	c.Flags().StringVar(&o.revision, "revision", "", "revision of what the folder is from, such as main@sha1:4f2a, for the image's annotations")
	c.Flags().BoolVar(&o.plainHTTP, "plain-http", false, "reach the registry without TLS")
	cli.Finish(c, cli.Conduct{
		Success: "the image was pushed", Problems: "check found an error; nothing is pushed",
		Cannot: "a bad flag, an unreadable folder, one that is larger than scripts may be, or a registry that refuses",
		Stdin:  "with `-f -`", Stdout: "the image with its digest", Stderr: "errors of check; how much was pushed",
	})
	return c
}

// run pushes a folder, unless the definitions that are given have errors.
func (o *pushOptions) run(ctx context.Context, w cli.Process, to, folder string) error {
	err := check.Passing(ctx, w, &o.manifests, nil, func(*manifest.Set, *engines.Registry) error { return o.push(ctx, w, to, folder) })
	if errors.Is(err, cli.ErrNoFiles) {
		return cli.Cannot(o.push(ctx, w, to, folder))
	}
	return err
}

func (o *pushOptions) push(ctx context.Context, w cli.Process, to, folder string) error {
	ref, err := parseReference(to)
	if err != nil {
		return err
	}
	read := directory.Read(folder, ".")
	switch {
	case read.Err != nil:
		return fmt.Errorf("%s: %w", folder, read.Err)
	case len(read.Files) == 0:
		return fmt.Errorf("%s: there are no files in such a folder", folder)
	case len(read.Problems) > 0:
		return fmt.Errorf("%s %s", filepath.Join(folder, read.Problems[0].Path), read.Problems[0].Message)
	}
	annotations := map[string]string{}
	for key, value := range map[string]string{ocispec.AnnotationSource: o.source, ocispec.AnnotationRevision: o.revision} {
		if value != "" {
			annotations[key] = value
		}
	}
	i, err := newImage(read.Files, annotations)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if err := i.send(ctx, ref, w.UserAgent(), o.plainHTTP); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w.Stderr, "%d files, %d KiB packed\n", len(read.Files), (len(i.layer.content)+1023)>>10); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Stdout, "oci://%s@%s\n", ref, i.manifest.Digest)
	return err
}
