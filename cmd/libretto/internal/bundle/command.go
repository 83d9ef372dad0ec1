package bundle

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

type bundleOptions struct {
	manifests  cli.ManifestFlags
	output     string
	namePrefix string
	withTests  bool
}

// Command returns libretto bundle.
func Command(w cli.Process) *cobra.Command {
	o := &bundleOptions{output: "yaml"}
	c := &cobra.Command{
		Use:   "bundle -f FILE|DIRECTORY|-",
		Short: "Pack the scripts of definitions into immutable ConfigMaps",
		Long: `Pack the scripts of definitions into immutable ConfigMaps.

For each definition, what its hooks consist of, with all that they import,
becomes one compressed ConfigMap, which is named by the hash of its content and
never changes, or several if it does not fit into one. The definition is printed
after it, with that ConfigMap as its only script source: so an edit takes over
when the definition does, as a whole. Other objects among the files are not
printed. Nothing is sent.

Definitions are checked first, as by libretto check: what has errors is not
bundled. The same files make the same bytes.`,
		Example: `  libretto bundle -f controller/ | kubectl apply -f -
  libretto bundle -f controller.yaml --scripts default/hooks=src --name-prefix prod-`,
		RunE: func(c *cobra.Command, args []string) error { return runBundle(c.Context(), w, o, args) },
	}
	o.manifests.AddTo(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "format: yaml")
	cli.CompleteFlag(c, "output", "yaml")
	c.Flags().StringVar(&o.namePrefix, "name-prefix", "", "put before the names of the ConfigMaps, which are DEFINITION-HASH")
	c.Flags().BoolVar(&o.withTests, "with-tests", false, "take in the tests that come with the scripts, and what they import or name")
	cli.Finish(c, cli.Conduct{
		Success: "bundles and definitions were printed", Problems: "check found an error; nothing is printed",
		Cannot: "a bad flag, an unreadable file, no definition, files that do not go into one bundle",
		Stdin:  "with `-f -`", Stdout: "ConfigMaps and definitions as YAML, for `kubectl apply -f -`",
		Stderr: "errors of check; a line for each bundle",
	})
	return c
}

// runBundle bundles all definitions, or none of them.
func runBundle(ctx context.Context, w cli.Process, o *bundleOptions, args []string) error {
	if o.output != "yaml" {
		return cli.Cannot(fmt.Errorf("-o %s: there is yaml", o.output))
	}
	return check.Passing(ctx, w, &o.manifests, args, func(set *manifest.Set, registry *engines.Registry) error {
		return o.write(ctx, w, set, registry)
	})
}

// write prints the bundles and then the definitions: a host that sees a definition first waits for its scripts.
func (o *bundleOptions) write(ctx context.Context, w cli.Process, set *manifest.Set, registry *engines.Registry) error {
	var configMaps, definitions []*unstructured.Unstructured
	written := map[string]bool{}
	for _, definition := range set.Definitions {
		b, err := Make(ctx, set, registry, definition, Options{
			NamePrefix: o.namePrefix, WithTests: o.withTests, Namespace: o.manifests.Namespace,
		})
		if err != nil {
			return err
		}
		definitions = append(definitions, b.Definition)
		name := manifest.Name(definition)
		if len(b.ConfigMaps) == 0 {
			fmt.Fprintf(w.Stderr, "%s: its hooks use no files of script sources\n", name)
			continue
		}
		var keys []string
		for _, configMap := range b.ConfigMaps {
			key := configMap.GetNamespace() + "/" + configMap.GetName()
			keys = append(keys, "ConfigMap "+key)
			if !written[key] {
				written[key] = true
				configMaps = append(configMaps, configMap)
			}
		}
		fmt.Fprintf(w.Stderr, "%s: %s: %s (%d bytes, %d packed)\n", name, strings.Join(keys, ", "), listed(b.Files), b.Size, b.Packed)
		if len(b.Left) > 0 {
			fmt.Fprintf(w.Stderr, "  left out, as no hook reaches it: %s\n", listed(b.Left))
		}
		if b.LargeForApply {
			fmt.Fprintln(w.Stderr, "  too large for kubectl apply, which keeps a copy in an annotation: use kubectl apply --server-side")
		}
	}
	for i, object := range append(configMaps, definitions...) {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the first of many names.
func listed(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
