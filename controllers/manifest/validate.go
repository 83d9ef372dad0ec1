package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// validate sets the defaults of definitions, and records what an API server would refuse of definitions and of objects whose
// schema is known.
func (s *Set) validate() error {
	s.given = map[*document.Object]*document.Object{}
	s.validateDefinitions()
	resources, err := s.schemas()
	if err != nil {
		return err
	}
	for _, o := range s.Objects {
		if resource, known := resources[o.GroupVersionKind().String()]; known && resource.Schema != nil {
			s.validateObject(o, resource)
		}
	}
	return nil
}

// WithoutDefaults returns a definition of the set as it is in the files, without defaults.
func (s *Set) WithoutDefaults(definition *document.Object) *document.Object {
	if given := s.given[definition]; given != nil {
		return given
	}
	return definition
}

// Resources returns the resources of all CustomResourceDefinitions.
func (s *Set) Resources() []memcluster.Resource {
	var all []memcluster.Resource
	for _, crd := range s.CRDs {
		all = append(all, crd.Resources...)
	}
	return all
}

// schemas returns the resources that objects may be of, by kind.
func (s *Set) schemas() (map[string]memcluster.Resource, error) {
	if len(s.Objects) == 0 {
		return nil, nil
	}
	all, err := validation.BuiltIn()
	if err != nil {
		return nil, err
	}
	byKind := map[string]memcluster.Resource{}
	for _, r := range append(all, s.Resources()...) {
		byKind[r.Kind.String()] = r
	}
	return byKind, nil
}

// validateDefinitions puts definitions in the place of those that were given as an API server would store them.
func (s *Set) validateDefinitions() {
	var given []*unstructured.Unstructured
	for _, o := range s.Definitions {
		object := o.DeepCopy()
		if o.GroupVersionKind().Group == v1alpha1.GroupName {
			object.SetNamespace("") // As the API server does.
		}
		given = append(given, object)
	}
	for i, stored := range validation.Definitions(given...) {
		o := s.Definitions[i]
		if stored.Err != nil {
			s.failAt(o, stored.Err)
		} else {
			s.report(o, stored.Dropped, stored.Invalid, stored.Schema)
			s.Definitions[i] = (&document.Object{Unstructured: v1alpha1.SetNamespaces(stored.Unstructured)}).WithPlaces(o)
		}
		s.given[s.Definitions[i]] = o
	}
}

func (s *Set) validateObject(o *document.Object, resource memcluster.Resource) {
	stored := o.DeepCopy()
	if stored.GetName() == "" {
		stored.SetName(o.GetGenerateName() + "0")
	}
	switch {
	case !resource.Namespaced:
		stored.SetNamespace("") // As the API server does.
	case stored.GetNamespace() == "":
		stored.SetNamespace(s.options.Namespace)
	}
	dropped, err := resource.Schema.Decode(stored.Object)
	if err != nil {
		s.failAt(o, err)
		return
	}
	custom, _ := resource.Schema.(*validation.Custom)
	s.report(o, dropped, resource.Schema.Validate(stored, nil), custom)
}

// report records what an API server drops of an object, which kubectl refuses too, and what it finds invalid. The schema is nil for a
// built-in kind.
func (s *Set) report(o *document.Object, dropped []string, invalid field.ErrorList, schema *validation.Custom) {
	for _, path := range dropped {
		meant := ""
		if schema != nil {
			meant = spelling.Meant(path[strings.LastIndexByte(path, '.')+1:], schema.Beside(path))
		}
		s.failf(o, path, "%s", strings.TrimSuffix(fmt.Sprintf("%s: unknown field %s: %s", Name(o), path, meant), ": "))
	}
	for _, e := range invalid {
		if e.Field == "<nil>" && len(invalid) > 1 {
			continue // Rules that were not checked because of the other errors.
		}
		s.failf(o, e.Field, "%s: %s", Name(o), validation.SayType(e.Error()))
	}
}

// noGoField matches what an API server says of a value that a Go type can't hold, with the path of the field and the type of the value.
var noGoField = regexp.MustCompile(`^.* cannot be handled as an? \w+: json: cannot unmarshal (\w+) into Go struct field \w+\.(\S+) of type \S+$`)

// fieldAtStart matches the path of a field at the start of a message.
var fieldAtStart = regexp.MustCompile(`(?:^|: )((?:spec|metadata|status|data)\b[^\s:]*): `)

// failAt records an error about an object, at the field that its message names.
func (s *Set) failAt(o *document.Object, err error) {
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		for _, e := range several.Errors() {
			s.failAt(o, e)
		}
		return
	}
	err = errors.New(noGoField.ReplaceAllString(err.Error(), "$2: a value can't be of type $1"))
	path := ""
	if match := fieldAtStart.FindStringSubmatch(err.Error()); match != nil {
		path = match[1]
	} else if o.Object["spec"] != nil {
		path = "spec"
	}
	message := err.Error()
	if name := Name(o); !strings.Contains(message, name) {
		message = fmt.Sprintf("%s: %s", name, message)
	}
	s.failf(o, path, "%s", message)
}
