package conformance

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	if len(c.Drops)+len(c.Defaults) > 0 {
		resource.Schema = pathSchema{resource, c.Drops, c.Defaults}
	}
	r.list = append(r.list, resource)
	return nil
}

// pathSchema is a schema of which no more is known than fields that are dropped, or have defaults, by dotted path.
type pathSchema struct {
	memcluster.Resource
	drops    []string
	defaults map[string]any
}

// Decode drops and defaults fields. A parent that is no object has no default.
func (s pathSchema) Decode(object map[string]any) (dropped []string, err error) {
	for path, value := range s.defaults {
		fields := strings.Split(path, ".")
		if _, found, err := unstructured.NestedFieldNoCopy(object, fields...); err == nil && !found {
			_ = unstructured.SetNestedField(object, runtime.DeepCopyJSONValue(value), fields...)
		}
	}
	for _, path := range s.drops {
		fields := strings.Split(path, ".")
		if _, found, _ := unstructured.NestedFieldNoCopy(object, fields...); found {
			dropped = append(dropped, path)
			unstructured.RemoveNestedField(object, fields...)
		}
	}
	return dropped, nil
}

// Validate checks the metadata.
func (s pathSchema) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	if old != nil {
		return apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
	}
	return apivalidation.ValidateObjectMetaAccessor(object, s.Namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// ValidateStatus accepts any status.
func (pathSchema) ValidateStatus(_, _ *unstructured.Unstructured) field.ErrorList { return nil }

// TypeConverter deduces types from values.
func (pathSchema) TypeConverter() (managedfields.TypeConverter, error) {
	return managedfields.NewDeducedTypeConverter(), nil
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
