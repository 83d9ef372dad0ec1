package validation

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/manifests/crd"
)

// OwnResource is one of Libretto's own resources, with its CustomResourceDefinition as it is in the binary, and as a value of its type
// with defaults. Neither may be changed.
type OwnResource struct {
	memcluster.Resource
	Object     *unstructured.Unstructured
	Definition *apiextensionsv1.CustomResourceDefinition
}

// own has a function for each of Libretto's own resources, by the plural. It reads the embedded CustomResourceDefinition once.
var own = ownKinds()

func ownKinds() map[string]func() (OwnResource, error) {
	files, err := fs.Glob(crd.Files, "json/*.json")
	if err != nil {
		panic(err) // The pattern is constant.
	}
	kinds := map[string]func() (OwnResource, error){}
	for _, file := range files {
		plural := strings.TrimSuffix(file[strings.LastIndexByte(file, '_')+1:], ".json")
		kinds[plural] = sync.OnceValues(func() (OwnResource, error) { return readOwn(file) })
	}
	return kinds
}

func readOwn(file string) (OwnResource, error) {
	text, err := crd.Files.ReadFile(file)
	if err != nil {
		return OwnResource{}, err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return OwnResource{}, err
	}
	decoded, err := decode(object)
	if err != nil {
		return OwnResource{}, err
	}
	version := &decoded.Spec.Versions[0]
	custom, err := newCustom(decoded, version)
	if err != nil {
		return OwnResource{}, err
	}
	return OwnResource{resourceOf(decoded, version, custom), object, decoded}, nil
}

// Own returns one of Libretto's own resources, such as compositecontrollers, with its schema.
func Own(plural string) (memcluster.Resource, error) {
	read, ok := own[plural]
	if !ok {
		return memcluster.Resource{}, fmt.Errorf("%s is no resource of Libretto", plural)
	}
	resource, err := read()
	return resource.Resource, err
}

// AllOwn returns Libretto's own resources in the order of their plurals.
func AllOwn() ([]OwnResource, error) {
	var all []OwnResource
	for _, plural := range slices.Sorted(maps.Keys(own)) {
		resource, err := own[plural]()
		if err != nil {
			return nil, err
		}
		all = append(all, resource)
	}
	return all, nil
}

// Stored is a definition as the API server stores it, with defaults and without unknown fields.
type Stored struct {
	*unstructured.Unstructured
	// Dropped are the paths of the fields that were dropped.
	Dropped []string
	// Invalid has what is wrong with it: with any, the API server refuses it.
	Invalid field.ErrorList
	// Err means that it is no definition, or cannot be read.
	Err error
	// Schema is that of its kind, unless Err is set.
	Schema *Custom
}

// Definitions returns definitions as the API server stores them.
func Definitions(objects ...*unstructured.Unstructured) []Stored {
	all, byKind := make([]Stored, len(objects)), map[*Custom][]int{}
	for i, object := range objects {
		resource, err := Own(v1alpha1.DefinitionResource(object.GroupVersionKind()).Resource)
		if err != nil || resource.Kind != object.GroupVersionKind() || !v1alpha1.IsDefinition(resource.Kind.GroupKind()) {
			all[i].Err = fmt.Errorf("%s %s is no definition: CompositeController, DecoratorController and MapController of %s are, or with a namespace of %s",
				object.GetAPIVersion(), object.GetKind(), v1alpha1.GroupVersion, v1alpha1.NamespacedGroupVersion)
			continue
		}
		all[i].Unstructured = object.DeepCopy()
		if all[i].Dropped, all[i].Err = resource.Schema.Decode(all[i].Object); all[i].Err == nil {
			custom, _ := resource.Schema.(*Custom) // readOwn makes it.
			all[i].Schema = custom
			byKind[custom] = append(byKind[custom], i)
		}
	}
	for custom, indices := range byKind {
		var stored []*unstructured.Unstructured
		for _, i := range indices {
			stored = append(stored, all[i].Unstructured)
		}
		for k, invalid := range custom.ValidateOnce(stored...) {
			all[indices[k]].Invalid = invalid
		}
	}
	return all
}

// CompileRules compiles the rules of all definitions, for a process that validates many, one after another.
func CompileRules() error {
	all, err := AllOwn()
	if err != nil {
		return err
	}
	for _, resource := range all {
		if custom, ok := resource.Schema.(*Custom); ok {
			if _, err := custom.compiled(); err != nil {
				return err
			}
		}
	}
	return nil
}
