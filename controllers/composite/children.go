package composite

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
)

// placed checks every desired child against the definition and the parent, and
// gives each the namespace and the label that the hook may leave out. The
// hook's own objects stay as they are.
func (v *Variant) placed(p *unstructured.Unstructured, children []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	claim, err := v.Claim(p)
	if err != nil {
		return nil, err
	}
	result := make([]*unstructured.Unstructured, len(children))
	seen := map[apply.Key]int{}
	for i, child := range children {
		child, problem := v.place(p, claim.Selector, child)
		if problem != "" {
			return nil, badChild(i, "%s", problem)
		}
		key := apply.KeyOf(child)
		if first, twice := seen[key]; twice {
			return nil, badChild(i, "%s stands at children[%d] already: each child may be listed once", key, first)
		}
		seen[key] = i
		result[i] = child
	}
	return result, nil
}

// place gives the child as it is to be written, or what is wrong with it.
func (v *Variant) place(p *unstructured.Unstructured, selector labels.Selector, child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	rule, declared := v.rules[child.GroupVersionKind()]
	if !declared {
		return nil, fmt.Sprintf("%s is not among the definition's childResources, which have %s", child.GroupVersionKind().GroupVersion().String()+" "+child.GetKind(), v.declared())
	}
	namespace, problem := namespaceOf(p, rule, child)
	if problem != "" {
		return nil, problem
	}
	labelled := child.GetLabels()
	if v.generate && labelled[v1alpha1.ControllerUIDLabel] == "" {
		labelled = maps.Clone(labelled)
		if labelled == nil {
			labelled = map[string]string{}
		}
		labelled[v1alpha1.ControllerUIDLabel] = string(p.GetUID())
	}
	placed := with(child, namespace, labelled)
	if !selector.Matches(labels.Set(labelled)) {
		return nil, fmt.Sprintf("metadata.labels: the labels of %s do not match the parent's selector %q, so that it would never be seen again", apply.KeyOf(placed), selector)
	}
	return placed, ""
}

// namespaceOf gives the namespace of a child by the scope rules of section 1.6
// of the specification, or what is wrong.
func namespaceOf(p *unstructured.Unstructured, rule parent.ChildRule, child *unstructured.Unstructured) (namespace, problem string) {
	given, of := child.GetNamespace(), p.GetNamespace()
	switch {
	case !rule.Namespaced && of != "":
		return "", fmt.Sprintf("%s is cluster-scoped: a parent in a namespace can't own it, as garbage collection works within a namespace", child.GetKind())
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

// with gives the child with that namespace and those labels, sharing all else.
func with(child *unstructured.Unstructured, namespace string, labelled map[string]string) *unstructured.Unstructured {
	if child.GetNamespace() == namespace && len(labelled) == len(child.GetLabels()) {
		return child
	}
	object := maps.Clone(child.Object)
	metadata, _ := object["metadata"].(map[string]any)
	object["metadata"] = maps.Clone(metadata)
	placed := &unstructured.Unstructured{Object: object}
	placed.SetNamespace(namespace)
	if len(labelled) > 0 {
		placed.SetLabels(labelled)
	}
	return placed
}

func (v *Variant) declared() string {
	if len(v.kinds) == 0 {
		return "none"
	}
	names := make([]string, len(v.kinds))
	for i, kind := range v.kinds {
		names[i] = kind.GroupVersion().String() + " " + kind.Kind
	}
	return strings.Join(names, ", ")
}

func badChild(i int, format string, args ...any) error {
	return &engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf("children[%d]: ", i) + fmt.Sprintf(format, args...)}
}
