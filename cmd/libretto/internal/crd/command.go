// Package crd implements libretto crd: it makes CustomResourceDefinitions of short schemas.
package crd

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// Command returns libretto crd.
func Command(w cli.Process) *cobra.Command {
	output := ""
	c := &cobra.Command{
		Use:   "crd FILE|-",
		Short: "Make a CustomResourceDefinition of a short schema",
		Long: `Make a CustomResourceDefinition of a short schema.

A field of the schema is one line: its type, and after | its markers.

  group: example.com
  kind: WebApp
  spec:
    image: string | required=true description="The image of the container."
    replicas: integer | default=1 minimum=0 maximum=10
    tags: "[]string"
  status:
    readyReplicas: integer
  additionalPrinterColumns:
    Ready: .status.readyReplicas

The status has conditions and observedGeneration besides. What the API server would
refuse is an error, with the line of the schema. A file may have several schemas,
separated by ---.`,
		Example: `  libretto crd schema.yaml -o crd.yaml
  libretto crd schema.yaml | kubectl apply -f -`,
		Args: cli.Exactly(1, 1, "one file with a schema, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			return cli.Cannot(run(w, args[0], output))
		},
	}
	c.Flags().StringVarP(&output, "output-file", "o", output, "`file` to write to, in place of standard output")
	cli.Finish(c, cli.Conduct{
		Success: "the definition is written", Cannot: "the schema has errors, or a file can't be read or written",
		Stdin: "with `-`", Stdout: "the CustomResourceDefinition; with `-o` a line about the file",
	})
	return c
}

func run(w cli.Process, path, output string) error {
	var text []byte
	var err error
	name := path
	if path == "-" {
		name = "standard input"
		text, err = io.ReadAll(w.Stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	made, err := Make(name, text)
	if err != nil {
		return err
	}
	if output == "" {
		_, err = w.Stdout.Write(made)
		return err
	}
	if err := cli.WriteFile(output, made); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w.Stdout, "wrote", output)
	return err
}
