// Package kinds tests bin/libretto as a process against a real API server: what
// the kinds of definition do for parents beyond children that follow a hook.
// Finalizers, who owns what, related objects, decorators, maps, and which
// definitions a host takes.
package kinds

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

const (
	composite = "CompositeController"
	decorator = "DecoratorController"
	mapping   = "MapController"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// scene is a world with Things.
type scene struct{ *env.Env }

// newScene makes a world in which Things are served, and starts libretto.
func newScene(t *testing.T, flags ...string) *scene {
	t.Helper()
	w := &scene{env.New(t)}
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	w.Start(flags...)
	return w
}

// with is the same scene for a subtest.
func (w *scene) with(t *testing.T) *scene { return &scene{w.WithT(t)} }

// definitionsOf is the resource of a kind of definition.
func definitionsOf(kind string) schema.GroupVersionResource {
	return env.CompositeControllers.GroupVersion().WithResource(strings.ToLower(kind) + "s")
}

// hooks gives the hooks of a definition, all of version v2 and exported by one script.
func hooks(script string, names ...string) string {
	lines := []string{"hooks:"}
	for _, name := range names {
		version := "version: v2, "
		if name == "map" || name == "tombstone" {
			version = ""
		}
		lines = append(lines, fmt.Sprintf("  %s: {%sscript: {engine: JavaScript, inline: %s}}", name, version, env.Quote(script)))
	}
	return strings.Join(lines, "\n")
}

// define applies a definition named after the test's namespace and suffix, whose spec is the parts, and waits until it is ready.
func (w *scene) define(kind, suffix string, spec ...string) string {
	w.T.Helper()
	name := w.Namespace + suffix
	w.Apply(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n%s",
		env.CompositeControllers.GroupVersion(), kind, name, env.Indent(strings.Join(spec, "\n"))))
	if kind != composite {
		w.T.Cleanup(func() { w.Delete(definitionsOf(kind), "", name) })
	}
	w.ready(kind, name)
	return name
}

// ready waits until a definition runs as its newest spec says.
func (w *scene) ready(kind, name string) {
	w.T.Helper()
	w.mustCondition(kind, name, "Ready", "True")
}

// mustCondition waits for a condition of a definition's newest spec with that status, and a message that contains all of parts.
func (w *scene) mustCondition(kind, name, condition, status string, parts ...string) {
	w.T.Helper()
	cluster.Eventually(w.T, env.Timeout, func() error {
		definition, err := w.Cluster.Dynamic().Resource(definitionsOf(kind)).Get(w.T.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := w.ConditionOf(definition, condition)
		if c.ObservedGeneration != definition.GetGeneration() {
			return fmt.Errorf("condition %s is of generation %d, want %d", condition, c.ObservedGeneration, definition.GetGeneration())
		}
		return env.CheckCondition(c, status, parts...)
	})
}

// parentsAre names Things with the label set: set as the parents of a composite or a decorator, and ConfigMaps as the children.
func (w *scene) parentsAre(kind, set string) string {
	rule := fmt.Sprintf("{apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %q}}}", w.Group, set)
	children := "[{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]"
	if kind == decorator {
		return fmt.Sprintf("resources: [%s]\nattachments: %s", rule, children)
	}
	return fmt.Sprintf("parentResource: %s\nchildResources: %s", rule, children)
}

// object applies a Thing, or an object of another kind of the test's group, with labels.
func (w *scene) object(kind, name, labels, spec string) *unstructured.Unstructured {
	w.T.Helper()
	w.Apply(fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %q, labels: {%s}}\nspec:\n  given: true\n%s", w.Group, kind, name, labels, env.Indent(spec)))
	return w.Get(w.resource(kind), name)
}

// group1 is the resource of a kind of the test's group.
func (w *scene) resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.Group, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// configMap applies a ConfigMap with labels and data.text.
func (w *scene) configMap(name, labels, text string) *unstructured.Unstructured {
	w.T.Helper()
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %q, labels: {%s}}, data: {text: %q}}", name, labels, text))
	return w.Get(env.ConfigMaps, name)
}

func (w *scene) names(resource schema.GroupVersionResource, selector string) []string {
	w.T.Helper()
	list, err := w.In(resource).List(w.T.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		w.T.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names
}

// mustNames waits until just those objects are there.
func (w *scene) mustNames(resource schema.GroupVersionResource, selector string, want ...string) {
	w.T.Helper()
	cluster.Eventually(w.T, env.Timeout, func() error {
		if got := w.names(resource, selector); !slices.Equal(got, want) {
			return fmt.Errorf("%s with %s are %q, want %q", resource.Resource, selector, got, want)
		}
		return nil
	})
}

// calls is how often a hook of a definition was called.
func (w *scene) calls(kind, name, hook string) float64 {
	w.T.Helper()
	metrics, err := w.Libretto().Metrics(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return metrics.Sum("libretto_hook_duration_seconds", map[string]string{"definition": kind + " " + name, "hook": hook})
}

// passes is how many passes of a definition have succeeded.
func (w *scene) passes(kind, name string) float64 {
	w.T.Helper()
	metrics, err := w.Libretto().Metrics(w.T.Context())
	if err != nil {
		w.T.Fatal(err)
	}
	return metrics.Sum("libretto_reconcile_total", map[string]string{"controller": kind + "-" + name, "outcome": "success"})
}

// mustPasses waits until so many passes of a definition have succeeded.
func (w *scene) mustPasses(kind, name string, want float64) {
	w.T.Helper()
	cluster.Eventually(w.T, env.Timeout, func() error {
		if got := w.passes(kind, name); got < want {
			return fmt.Errorf("%v passes, want %v", got, want)
		}
		return nil
	})
}

// mustColumns waits until kubectl shows whether a definition is ready, how its scripts are, and how many parents it has, which is nothing if it does not run.
func (w *scene) mustColumns(kind, name, ready, scripts, parents string) {
	w.T.Helper()
	short := map[string]string{composite: "cc", decorator: "dec", mapping: "mc"}[kind]
	cluster.Eventually(w.T, env.Timeout, func() error {
		out, err := w.Cluster.Kubectl(w.T.Context(), "get", short, name)
		if err != nil {
			return err
		}
		header, row, _ := strings.Cut(strings.TrimSpace(out), "\n")
		if got := strings.Fields(header); !slices.Equal(got, []string{"NAME", "READY", "SCRIPTS", "REVISION", "PARENTS", "AGE"}) {
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

// says checks status.said.
func says(want string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "status", "said"); got != want {
			return fmt.Errorf("%s says %q, want %q", o.GetName(), got, want)
		}
		return nil
	}
}

func hasText(want string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "data", "text"); got != want {
			return fmt.Errorf("%s has text %q, want %q", o.GetName(), got, want)
		}
		return nil
	}
}

func hasAnnotation(key, want string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got := o.GetAnnotations()[key]; got != want {
			return fmt.Errorf("%s %s has annotation %s=%q, want %q", o.GetKind(), o.GetName(), key, got, want)
		}
		return nil
	}
}

// ownedBy checks the controlling owner; nil means that there must be none.
func ownedBy(owner *unstructured.Unstructured) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		ref := metav1.GetControllerOf(o)
		switch {
		case owner == nil && ref == nil:
			return nil
		case owner == nil:
			return fmt.Errorf("%s belongs to %s %s, want no owner", o.GetName(), ref.Kind, ref.Name)
		case ref == nil || ref.UID != owner.GetUID():
			return fmt.Errorf("%s belongs to %v, want %s %s", o.GetName(), ref, owner.GetKind(), owner.GetName())
		}
		return nil
	}
}
