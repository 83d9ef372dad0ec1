package mapping

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

var errBoom = errors.New("boom")

var (
	configMaps = resource("", "v1", "ConfigMap", "configmaps", true)
	pods       = resource("", "v1", "Pod", "pods", true)
	roles      = resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false)
	nodes      = resource("", "v1", "Node", "nodes", false)
)

const (
	definition       = `{kind: MapController, metadata: {name: copies, uid: d1, generation: 1}}`
	namespacedParent = `{apiVersion: example.com/v1, kind: Bucket, metadata: {name: b, namespace: prod, uid: u1, generation: 4, resourceVersion: "9"}}`
	clusterParent    = `{apiVersion: example.com/v1, kind: Bucket, metadata: {name: b, uid: u1, generation: 4, resourceVersion: "9"}}`
	allHooks         = `{map: {}, tombstone: {}, finalize: {}}`
)

func resource(group, version, kind, plural string, namespaced bool) discovery.Resource {
	gv := schema.GroupVersion{Group: group, Version: version}
	return discovery.Resource{GroupVersionResource: gv.WithResource(plural), Kind: gv.WithKind(kind), Namespaced: namespaced}
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	decode(t, text, &fields)
	return fields
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: parse(t, text)}
}

// named makes an object of "Pod prod/a" or "Node a". It has a version, and a UID
// that depends on its identity.
func named(text string) *unstructured.Unstructured {
	kind, name, _ := strings.Cut(text, " ")
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for _, known := range []discovery.Resource{configMaps, pods, roles, nodes} {
		if known.Kind.Kind == kind {
			o.SetGroupVersionKind(known.Kind)
		}
	}
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		o.SetNamespace(namespace)
		o.SetName(name)
	} else {
		o.SetName(namespace)
	}
	o.SetUID(types.UID("uid of " + text))
	o.SetResourceVersion("1")
	return o
}

// output makes an output of "Pod prod/a of /ConfigMap/prod/x".
func output(v *Variant, text string) *unstructured.Unstructured {
	name, key, _ := strings.Cut(text, " of ")
	return v.withMarks(named(name), mapKey(key), mapKey(key).label())
}

// described is the reverse of output.
func described(o *unstructured.Unstructured) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s %s of %s", o.GetKind(), name, keyFrom(o))
}

func all(objects []*unstructured.Unstructured, describe func(*unstructured.Unstructured) string) []string {
	var texts []string
	for _, o := range objects {
		texts = append(texts, describe(o))
	}
	return texts
}

// newVariant returns the variant of the map copies with the hooks that are given as YAML.
func newVariant(t testing.TB, hooks string, outputs ...discovery.Resource) *Variant {
	t.Helper()
	config := Config{
		Definition: parse(t, definition),
		Inputs:     []variant.InputRule{{Resource: configMaps}, {Resource: nodes}},
	}
	config.Spec.Hooks = &v1alpha1.MapHooks{}
	decode(t, hooks, config.Spec.Hooks)
	for _, resource := range outputs {
		config.Outputs = append(config.Outputs, variant.ChildRule{Resource: resource})
	}
	return New(config)
}
