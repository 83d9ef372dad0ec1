package render

import (
	"bytes"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// TestFile is what a file of tests says about its surroundings. Paths are relative to it.
type TestFile struct {
	// Definition is the file with the definition, or empty for the folder of the test file.
	Definition string
	// Several is set if there are documents for other definitions.
	Several bool
	// Ref selects one of several definitions, or is empty.
	Ref string
	// CRDs are files with CustomResourceDefinitions that are not beside the definition.
	CRDs []string
	// Scripts are directories that take the place of ConfigMaps.
	Scripts map[string]string
	// Namespace is that of objects without one, or empty for default.
	Namespace string
	// Now is the time of the first pass, or empty for that of tests.
	Now string
	// Ready are the objects that become ready: nil for all.
	Ready any
	// Answers are canned answers of hooks.
	Answers map[string]any
	// SkipChecks turns off checks that the cases make, by name, with the reason.
	SkipChecks map[string]string
}

// given returns the objects of the files, without ConfigMaps that scripts are from and without Namespaces that no file has.
func (r *renderer) given() []*unstructured.Unstructured {
	sources := map[string]bool{}
	if spec, err := r.stage.Plan.Scripts(); err == nil {
		for _, source := range spec.Sources {
			sources[source.Origin().ConfigMap.String()] = true
		}
	}
	namespaces := map[string]bool{}
	for _, object := range r.Set.Objects {
		if object.GetKind() == namespaceKind {
			namespaces[object.GetName()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.stage.Objects), func(object *unstructured.Unstructured) bool {
		switch object.GroupVersionKind() {
		case corev1.SchemeGroupVersion.WithKind("ConfigMap"):
			return sources[object.GetNamespace()+"/"+object.GetName()]
		case corev1.SchemeGroupVersion.WithKind(namespaceKind):
			return !namespaces[object.GetName()]
		default:
			return false
		}
	})
}

const namespaceKind = "Namespace"

// Test returns a file of tests with a case for each rendering, which passes with what was rendered. The renderings are of one definition.
func (f TestFile) Test(renderings []*Rendering) ([]byte, error) {
	var b bytes.Buffer
	section := func(name string, value any) error {
		text, err := yaml.Marshal(map[string]any{name: value})
		b.Write(text)
		return err
	}
	b.WriteString("apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n")
	for _, field := range []struct{ name, value string }{
		{"definition", f.Definition}, {"definitionRef", f.Ref}, {"namespace", f.Namespace}, {"now", f.Now},
	} {
		if field.value == "" {
			continue
		}
		if err := section(field.name, field.value); err != nil {
			return nil, err
		}
	}
	if len(f.Scripts) > 0 {
		if err := section("scripts", f.Scripts); err != nil {
			return nil, err
		}
	}
	given := []any{}
	for _, name := range f.CRDs {
		given = append(given, name)
	}
	for _, object := range renderings[0].Given {
		given = append(given, f.written(object.Object))
	}
	cases := []any{}
	for _, r := range renderings {
		cases = append(cases, f.testCase(r, len(renderings) > 1 || r.isOneOfSeveral()))
	}
	if err := section("given", given); err != nil {
		return nil, err
	}
	err := section("cases", cases)
	return b.Bytes(), err
}

// isOneOfSeveral reports whether other objects of the parent's kind are given.
func (r *Rendering) isOneOfSeveral() bool {
	return slices.ContainsFunc(r.Given, func(object *unstructured.Unstructured) bool {
		return object.GroupVersionKind() == r.Object.GroupVersionKind() &&
			(object.GetNamespace() != r.Object.GetNamespace() || object.GetName() != r.Object.GetName())
	})
}

// testCase returns the case of a rendering.
func (f TestFile) testCase(r *Rendering, several bool) map[string]any {
	name := f.short(r.Object)
	if f.Several {
		name += " of " + apply.KeyOf(r.Definition).String()
	}
	c := map[string]any{"name": name + " settles"}
	if err := r.Err(); err != nil {
		c["name"], c["fails"] = name+" fails", failure(err)
	} else {
		c["want"] = f.want(r)
	}
	if len(f.SkipChecks) > 0 {
		c["skipChecks"] = f.SkipChecks
	}
	if several {
		c["parent"] = SlashedName(r.Object)
	}
	if f.Ready != nil {
		c["ready"] = f.Ready
	}
	if len(f.Answers) > 0 {
		webhooks := map[string]any{}
		for hook, answer := range f.Answers {
			webhooks[hook] = map[string]any{"body": answer}
		}
		c["webhooks"] = webhooks
	}
	return c
}

// failure returns a regular expression for the error of a pass, which has no place in it: in the test's file that is another one.
func failure(err error) string {
	message := err.Error()
	var script *engines.Error
	if errors.As(err, &script) {
		message = script.Message
	}
	line, _, _ := strings.Cut(message, "\n")
	return regexp.QuoteMeta(line)
}

// short returns the kind and name of an object, with the namespace if that is not the one of the file.
func (f TestFile) short(object *unstructured.Unstructured) string {
	namespace := object.GetNamespace()
	if namespace == f.namespace() {
		namespace = ""
	}
	return objectkey.Key{Kind: object.GroupVersionKind(), Namespace: namespace, Name: object.GetName()}.String()
}

func (f TestFile) namespace() string {
	if f.Namespace == "" {
		return corev1.NamespaceDefault
	}
	return f.Namespace
}

// SlashedName returns the name of an object as a test file has it.
func SlashedName(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + "/" + object.GetName()
	}
	return object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
}

// childFields are the fields of want that hold what the definitions of a kind control.
var childFields = map[string]string{
	v1alpha1.CompositeControllerKind: "children", v1alpha1.DecoratorControllerKind: "attachments", v1alpha1.MapControllerKind: "outputs",
}

// want returns what was rendered, as parts that do not depend on the time or on what is secret.
func (f TestFile) want(r *Rendering) map[string]any {
	want, counts := map[string]any{}, map[string]any{}
	if r.gone {
		want["finalized"] = true
	} else if status, _ := r.Parent.Object["status"].(map[string]any); len(status) > 0 && wroteStatus(r) {
		if part := statusPart(status); len(part) > 0 {
			want["status"] = part
		}
	}
	var children []any
	for _, child := range r.Children {
		children = append(children, f.written(f.part(r, child)))
		n, _ := counts[child.GetKind()].(int64)
		counts[child.GetKind()] = n + 1
	}
	if len(r.Waits) > 0 {
		want["waiting"] = map[string]any{"reason": r.Waits[0].Reason}
	}
	if len(children) > 0 {
		want[childFields[r.Definition.GetKind()]] = children
		want["counts"] = counts
	}
	return want
}

// wroteStatus reports whether the host wrote the parent's status, which belongs to another controller otherwise.
func wroteStatus(r *Rendering) bool {
	return slices.ContainsFunc(r.Steps, func(step simulation.Result) bool {
		return slices.ContainsFunc(step.Writes, func(w memcluster.Write) bool {
			return (w.Verb == memcluster.UpdateStatus || w.Verb == memcluster.PatchStatus) && w.Name == r.Object.GetName() &&
				w.Namespace == r.Object.GetNamespace() && w.Kind == r.Object.GroupVersionKind()
		})
	})
}

// statusPart returns a status without generations and times.
func statusPart(status map[string]any) map[string]any {
	part, _ := jsonvalue.Without(status, "observedGeneration")
	conditions, _ := part["conditions"].([]any)
	if len(conditions) == 0 {
		return part
	}
	var parts []any
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		condition, _ = jsonvalue.Without(
			condition, "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime", "observedGeneration",
		)
		parts = append(parts, condition)
	}
	return jsonvalue.With(part, "conditions", parts)
}

// part returns a child as a part: without what the server and definitions add, and without secrets. A copy of one stays: the test gives
// what it was copied from, which is hidden there too, unless secrets are to be shown.
func (f TestFile) part(r *Rendering, child *unstructured.Unstructured) map[string]any {
	manifest, _ := stage.HideSecrets(merge.Managed(child.Object), r.schema).(map[string]any)
	if jsonvalue.IsSecret(manifest) {
		manifest, _ = jsonvalue.Without(manifest, "data", "stringData")
	}
	manifest, _ = withoutHidden(manifest).(map[string]any)
	withoutBookkeeping(manifest)
	return manifest
}

// withoutBookkeeping removes the labels and annotations that definitions add to objects.
func withoutBookkeeping(object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		values, has := meta[field].(map[string]any)
		for name := range values {
			if name == controllerUID || strings.HasPrefix(name, v1alpha1.GroupName+"/") {
				delete(values, name)
			}
		}
		if has && len(values) == 0 {
			delete(meta, field)
		}
	}
}

// controllerUID is the label of generated selectors.
const controllerUID = "controller-uid"

// withoutHidden returns a copy of a value without fields that are hidden.
func withoutHidden(value any) any {
	return jsonvalue.Map(value, func(value any) (any, bool) {
		fields, isObject := value.(map[string]any)
		if !isObject {
			return value, false
		}
		shown := maps.Clone(fields)
		maps.DeleteFunc(shown, func(_ string, field any) bool { return field == jsonvalue.Hidden })
		return shown, false
	})
}

// written returns an object without the namespace that it has anyway.
func (f TestFile) written(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	if meta["namespace"] != f.namespace() {
		return object
	}
	meta, _ = jsonvalue.Without(meta, "namespace")
	return jsonvalue.With(object, "metadata", meta)
}
