package conformance

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
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

// refOf returns an object's name as steps have it, like Thing/default/a.
func refOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + "/" + o.GetName()
	}
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}
