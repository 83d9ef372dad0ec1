package env

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// UpdatedConfigMaps and UpdatedChildren are rules for ConfigMaps that are updated in place.
const (
	UpdatedConfigMaps = "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}"
	UpdatedChildren   = "childResources: [" + UpdatedConfigMaps + "]"
)

// Define applies a definition named after the test's namespace and a suffix, with the lines of its spec, and returns its name.
func (e *Env) Define(kind, suffix string, spec ...string) string {
	e.T.Helper()
	name := e.Namespace + suffix
	e.Apply(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n%s",
		CompositeControllers.GroupVersion(), kind, name, Indent(strings.Join(spec, "\n"))))
	return name
}

// DefineNamespaced applies a definition of the test's namespace, with the lines of its spec.
func (e *Env) DefineNamespaced(kind, name string, spec ...string) {
	e.T.Helper()
	e.Apply(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec:\n%s",
		v1alpha1.NamespacedGroupVersion, kind, name, e.Namespace, Indent(strings.Join(spec, "\n"))))
}

// DefineReady applies a definition as Define does, and waits until it is ready.
func (e *Env) DefineReady(kind, suffix string, spec ...string) string {
	e.T.Helper()
	name := e.Define(kind, suffix, spec...)
	e.WaitUntilReady(kind, name)
	return name
}

// PatchDefinition merges a JSON patch into a definition.
func (e *Env) PatchDefinition(kind, name, patch string) {
	e.T.Helper()
	e.ClusterScope().Patch(Definitions(kind), name, patch)
}

// Hooks returns the hooks of a spec, all exported by one script. Those that have versions are of v2.
func Hooks(script string, names ...string) string {
	lines := []string{"hooks:"}
	for _, name := range names {
		version := "version: v2, "
		if name == "map" || name == "tombstone" {
			version = ""
		}
		lines = append(lines, fmt.Sprintf("  %s: {%sscript: {engine: JavaScript, inline: %s}}", name, version, Quote(script)))
	}
	return strings.Join(lines, "\n")
}

// Rule returns a rule of a spec for a resource of the test's group. A set narrows it to objects with the label set: <set>.
func (e *Env) Rule(resource, set string) string {
	selector := ""
	if set != "" {
		selector = fmt.Sprintf(", labelSelector: {matchLabels: {set: %q}}", set)
	}
	return fmt.Sprintf("{apiVersion: %s/v1, resource: %s%s}", e.Group, resource, selector)
}

// Parent returns the line of a composite's or a map's spec that makes a resource of the test's group its parents.
func (e *Env) Parent(resource, set string) string { return "parentResource: " + e.Rule(resource, set) }

// Targets returns the line of a decorator's spec that makes a resource of the test's group its targets.
func (e *Env) Targets(resource, set string) string {
	return "resources: [" + e.Rule(resource, set) + "]"
}

// WaitForColumns waits until kubectl shows that a definition is ready, the state of its scripts, and the number of its
// parents, which is empty if it does not run.
func (e *Env) WaitForColumns(kind, name, ready, scripts, parents string) {
	e.T.Helper()
	short := map[string]string{Composite: "cc", Decorator: "dec", Map: "mc"}[kind]
	e.Eventually(func() error {
		out, err := e.Cluster.Kubectl(e.T.Context(), "get", short, name)
		if err != nil {
			return err
		}
		header, row, _ := strings.Cut(strings.TrimSpace(out), "\n")
		if got := strings.Fields(header); !slices.Equal(got, []string{"NAME", "READY", "SYNCED", "SCRIPTS", "REVISION", "PARENTS", "FAILING", "WAITING", "AGE"}) {
			return fmt.Errorf("columns are %q", got)
		}
		column := func(name string) string {
			from := strings.Index(header, name)
			value, _, _ := strings.Cut(row[min(from, len(row)):], " ")
			return value
		}
		if column("READY") != ready || column("SCRIPTS") != scripts || column("PARENTS") != parents {
			return fmt.Errorf("kubectl shows\n%swant %s, %s and %s parents", out, ready, scripts, parents)
		}
		return nil
	})
}
