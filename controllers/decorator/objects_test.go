package decorator

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

var (
	services = discovery.Resource{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespaced: true}
	roles    = discovery.Resource{Kind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}}
)

const (
	namespacedTarget = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: prod, uid: u1, generation: 4}}`
	clusterTarget    = `{apiVersion: v1, kind: Node, metadata: {name: n1, uid: u1}}`
)

// parse reads YAML as the API server's JSON is read.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	decode(t, text, &fields)
	return fields
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: parse(t, text)}
}

// newVariant returns the variant of the decorator svc with the hooks that are given as YAML.
func newVariant(t *testing.T, hooks string, attachments ...discovery.Resource) *Variant {
	t.Helper()
	config := Config{Definition: parse(t, `{kind: DecoratorController, metadata: {name: svc}}`)}
	config.Spec.Hooks = &v1alpha1.DecoratorHooks{}
	decode(t, hooks, config.Spec.Hooks)
	for _, resource := range attachments {
		config.Attachments = append(config.Attachments, variant.ChildRule{Resource: resource})
	}
	return New(config)
}
