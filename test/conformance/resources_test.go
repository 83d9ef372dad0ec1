package conformance

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
)

// resources are the custom resources of a case.
type resources struct{ list []memcluster.Resource }

// customResource is an entry of resources.yaml.
type customResource struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Resource   string         `json:"resource"`
	Cluster    bool           `json:"cluster"`
	NoStatus   bool           `json:"noStatus"`
	Drops      []string       `json:"drops"`
	Defaults   map[string]any `json:"defaults"`
}

// standardResources returns those of every case: Thing for parents, Bucket for maps and Leaf for children,
// each also cluster-scoped as ClusterThing and so on.
func standardResources() *resources {
	r := &resources{}
	for _, kind := range []string{"Thing", "Bucket", "Leaf"} {
		plural := map[string]string{"Leaf": "leaves"}[kind]
		if plural == "" {
			plural = strings.ToLower(kind) + "s"
		}
		r.mustAdd(customResource{APIVersion: "example.com/v1", Kind: kind, Resource: plural})
		r.mustAdd(customResource{APIVersion: "example.com/v1", Kind: "Cluster" + kind, Resource: "cluster" + plural, Cluster: true})
	}
	return r
}

func (r *resources) mustAdd(c customResource) {
	if err := r.add(c); err != nil {
		panic(err)
	}
}

func (r *resources) add(c customResource) error {
	resource, err := memcluster.Custom(c.APIVersion, c.Kind, c.Resource, !c.Cluster, !c.NoStatus)
	if err != nil {
		return err
	}
	resource.Drops, resource.Defaults = c.Drops, c.Defaults
	r.list = append(r.list, resource)
	return nil
}

// read adds the resources of resources.yaml.
func (r *resources) read(data []byte) error {
	var listed []customResource
	if err := yaml.UnmarshalStrict(data, &listed); err != nil {
		return err
	}
	for _, c := range listed {
		if err := r.add(c); err != nil {
			return err
		}
	}
	return nil
}

// objectFor returns an object with the kind, namespace and name of a reference like "Thing default/a".
func (r *resources) objectFor(ref string) (*unstructured.Unstructured, error) {
	kind, name, found := strings.Cut(ref, " ")
	if !found {
		return nil, fmt.Errorf("%q must be a kind and a name, as in Thing default/a", ref)
	}
	o := &unstructured.Unstructured{}
	if namespace, local, in := strings.Cut(name, "/"); in {
		o.SetNamespace(namespace)
		name = local
	}
	o.SetName(name)
	for _, all := range [][]memcluster.Resource{r.list, memcluster.BuiltIn()} {
		for _, resource := range all {
			if resource.Kind.Kind == kind {
				o.SetGroupVersionKind(resource.Kind)
				return o, nil
			}
		}
	}
	return nil, fmt.Errorf("%q: no resource has the kind %s", ref, kind)
}

// refOf returns an object's reference, like "Thing default/a".
func refOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" && !strings.HasPrefix(o.GetKind(), "Cluster") && o.GetKind() != "Namespace" {
		return o.GetKind() + " default/" + o.GetName()
	}
	return ref(o.GetKind(), o.GetNamespace(), o.GetName())
}

func ref(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
