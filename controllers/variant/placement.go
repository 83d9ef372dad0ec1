package variant

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
)

// Placement reads desired objects from responses. It checks each against the definition's kinds
// and the parent's scope, and adds the namespace if the hook leaves it out.
type Placement struct {
	field            string
	declaredIn       string // the field of the spec that has the rules
	defaultNamespace string // of objects of a cluster-scoped parent
	kinds            []schema.GroupVersionKind
	rules            map[schema.GroupVersionKind]ChildRule
}

// FinishFunc returns an object as it is to be written, or a problem. It must not change its
// argument.
type FinishFunc func(object *unstructured.Unstructured) (finished *unstructured.Unstructured, problem string)

// NewPlacement returns a placement for a list of a response, such as "children", by the rules that a
// field of the definition's spec has, such as "childResources".
func NewPlacement(field, declaredIn string, rules []ChildRule) *Placement {
	p := &Placement{field: field, declaredIn: declaredIn, rules: map[schema.GroupVersionKind]ChildRule{}}
	for _, rule := range rules {
		p.kinds = append(p.kinds, rule.Kind)
		p.rules[rule.Kind] = rule
	}
	return p
}

// In returns the same placement with a default namespace for objects of a cluster-scoped parent.
func (p *Placement) In(namespace string) *Placement {
	placement := *p
	placement.defaultNamespace = namespace
	return &placement
}

// Kinds returns the declared kinds, in the order of the rules.
func (p *Placement) Kinds() []schema.GroupVersionKind { return slices.Clip(p.kinds) }

// Objects reads the list. It does not change the hook's objects. A problem with one object fails
// the response.
func (p *Placement) Objects(response *Response, parent *unstructured.Unstructured, finish FinishFunc) []*unstructured.Unstructured {
	listed := response.Objects(p.field)
	objects := make([]*unstructured.Unstructured, len(listed))
	seen := map[apply.Key]int{}
	for i, object := range listed {
		if problem := checkController(object, parent); problem != "" {
			response.Failf("%s[%d]%s", p.field, i, problem)
			return nil
		}
		object, problem := p.place(parent, object, finish)
		if problem != "" {
			response.Failf("%s[%d]: %s", p.field, i, problem)
			return nil
		}
		key := apply.KeyOf(object)
		if first, twice := seen[key]; twice {
			response.Failf("%s[%d]: %s stands at %s[%d] already: each may be listed once", p.field, i, key, p.field, first)
			return nil
		}
		seen[key] = i
		objects[i] = object
	}
	return objects
}

func (p *Placement) place(parent, object *unstructured.Unstructured, finish FinishFunc) (*unstructured.Unstructured, string) {
	rule, declared := p.rules[object.GroupVersionKind()]
	if !declared {
		return nil, fmt.Sprintf("%s is not among spec.%s, which have %s",
			kindName(object.GroupVersionKind()), p.declaredIn, p.declaredKinds())
	}
	namespace, problem := p.namespaceFor(parent, rule, object)
	if problem != "" {
		return nil, problem
	}
	return finish(inNamespace(object, namespace))
}

// namespaceFor returns the namespace of a desired object by the rules of section 1.6 of the
// specification, or a problem.
func (p *Placement) namespaceFor(
	parent *unstructured.Unstructured, rule ChildRule, object *unstructured.Unstructured,
) (namespace, problem string) {
	given, of := object.GetNamespace(), parent.GetNamespace()
	if given == "" && of == "" {
		given = p.defaultNamespace
	}
	switch {
	case !rule.Namespaced && of != "":
		return "", fmt.Sprintf("%s is cluster-scoped: a parent in a namespace can't own it, as garbage collection works within a namespace",
			object.GetKind())
	case !rule.Namespaced:
		return "", ""
	case of == "" && given == "":
		return "", "metadata.namespace: is required, as the parent is in none"
	case of == "":
		return given, ""
	case given != "" && given != of:
		return "", fmt.Sprintf("metadata.namespace: is %q, but children of a parent in %q must be there too", given, of)
	default:
		return of, ""
	}
}

func inNamespace(object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	if object.GetNamespace() == namespace {
		return object
	}
	moved := WithMetadata(object)
	moved.SetNamespace(namespace)
	return moved
}

func (p *Placement) declaredKinds() string {
	if len(p.kinds) == 0 {
		return "none"
	}
	names := make([]string, len(p.kinds))
	for i, kind := range p.kinds {
		names[i] = kindName(kind)
	}
	return strings.Join(names, ", ")
}

// kindName returns a kind like "apps/v1 Deployment".
func kindName(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}
