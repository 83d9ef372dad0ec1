package apply

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rules finds the rule for a kind.
type rules struct {
	declared []Rule
	byKind   map[schema.GroupVersionKind]Rule
	rank     map[schema.GroupVersionKind]int
}

// indexRules returns an error for a rule that can't be followed or is there twice.
func indexRules(declared []Rule) (rules, error) {
	r := rules{
		declared: declared,
		byKind:   make(map[schema.GroupVersionKind]Rule, len(declared)),
		rank:     make(map[schema.GroupVersionKind]int, len(declared)),
	}
	for i, rule := range declared {
		if err := rule.valid(); err != nil {
			return rules{}, err
		}
		if _, twice := r.byKind[rule.Kind]; twice {
			return rules{}, fmt.Errorf("%s: declared twice", kindName(rule.Kind))
		}
		r.byKind[rule.Kind] = rule
		r.rank[rule.Kind] = i
	}
	return r, nil
}

// children pairs the desired objects with their rules, and returns all errors at once.
func (r rules) children(desired []*unstructured.Unstructured) ([]child, error) {
	children := make([]child, 0, len(desired))
	position := make(map[Key]int, len(desired))
	var errs []error
	for i, object := range desired {
		c, err := r.child(object)
		if err != nil {
			errs = append(errs, fmt.Errorf("desired[%d]: %w", i, err))
			continue
		}
		if first, twice := position[c.key]; twice {
			errs = append(errs, fmt.Errorf("desired[%d] and desired[%d]: both are %s", first, i, c.key))
			continue
		}
		position[c.key] = i
		children = append(children, c)
	}
	return children, errors.Join(errs...)
}

// child checks one desired object.
func (r rules) child(object *unstructured.Unstructured) (child, error) {
	if object == nil || object.Object == nil {
		return child{}, errors.New("is null")
	}
	key := KeyOf(object)
	rule, ok := r.byKind[key.Kind]
	switch {
	case !ok:
		return child{}, fmt.Errorf("%s: %w", key, r.undeclared(key.Kind))
	case key.Name == "":
		return child{}, fmt.Errorf("%s: metadata.name is missing", kindName(key.Kind))
	case rule.Namespaced && key.Namespace == "":
		return child{}, fmt.Errorf("%s: metadata.namespace is missing", key)
	case !rule.Namespaced && key.Namespace != "":
		return child{}, fmt.Errorf("%s: metadata.namespace is set, but the kind has no namespaces", key)
	}
	return child{key: key, rule: rule, desired: object}, nil
}

// undeclared returns the error for a kind without a rule. It names the kinds that have one.
func (r rules) undeclared(kind schema.GroupVersionKind) error {
	if len(r.declared) == 0 {
		return fmt.Errorf("%s is not declared; no kind is", kindName(kind))
	}
	names := make([]string, len(r.declared))
	for i, rule := range r.declared {
		names[i] = kindName(rule.Kind)
	}
	return fmt.Errorf("%s is not declared; declared: %s", kindName(kind), strings.Join(names, ", "))
}
