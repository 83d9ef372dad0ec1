package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

// gated is a client whose creations each wait to be let through the gate.
type gated struct {
	*fake.FakeDynamicClient
	counter
	gate chan struct{}
}

func (g *gated) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return gatedResource{gated: g}
}

type gatedResource struct {
	dynamic.NamespaceableResourceInterface
	gated *gated
}

func (r gatedResource) Namespace(string) dynamic.ResourceInterface { return r }

func (r gatedResource) Create(_ context.Context, u *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	r.gated.add(1)
	defer r.gated.add(-1)
	<-r.gated.gate
	return u, nil
}
