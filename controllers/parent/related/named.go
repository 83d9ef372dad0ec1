package related

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// NamedRule is an entry of spec.relatedResources whose names are in the parent.
type NamedRule struct {
	schema.GroupVersionResource
	// Namespace is that of the objects. It is empty for the parent's.
	Namespace string
	entry     int
	path      string
	steps     []string
}

// allItems is the step to all items of a list.
const allItems = "[*]"

// fieldStep matches a step of a path: the field of an object, all items of a list, or a field in quotes.
var fieldStep = regexp.MustCompile(`^(?:\.([A-Za-z_][-A-Za-z0-9_]*)|(\[\*\])|\['([^']+)'\])`)

// NewNamedRule returns the rule of an entry with nameFrom.
func NewNamedRule(entry int, resource schema.GroupVersionResource, given *v1alpha1.RelatedResourceRule) (NamedRule, error) {
	rule := NamedRule{GroupVersionResource: resource, Namespace: given.Namespace, entry: entry, path: given.NameFrom.FieldPath}
	for rest := "." + rule.path; rest != ""; {
		found := fieldStep.FindStringSubmatch(rest)
		if found == nil {
			return rule, fmt.Errorf("%q is no path: write one such as spec.secretName, spec.imagePullSecrets[*].name or "+
				"metadata.annotations['example.com/secret']", rule.path)
		}
		rule.steps = append(rule.steps, cmp.Or(found[1], found[2], found[3]))
		rest = rest[len(found[0]):]
	}
	return rule, nil
}

// NamedRules returns the rules for what a parent names, and the kinds of what it may name. The error tells what is wrong in the parent, or
// that a resource is not served.
func (c *Customize) NamedRules(parent *unstructured.Unstructured, find findFunc) ([]*Rule, []schema.GroupVersionKind, error) {
	rules, kinds := newRuleList(&Limits{}), []schema.GroupVersionKind(nil)
	for _, named := range c.Named {
		rule, problem := c.namedRule(&named, parent, find)
		if problem == "" && len(rule.names) > 0 {
			problem = rules.add(&rule)
		}
		if problem != "" {
			return nil, nil, variant.Lasting(fmt.Errorf("spec.relatedResources[%d].nameFrom: %s", named.entry, problem))
		}
		kinds = append(kinds, rule.resource.Kind)
	}
	return rules.rules, kinds, nil
}

// namedRule returns the rule for what a parent names by one entry, which has no names if there are none. The second result is the problem,
// or "".
func (c *Customize) namedRule(named *NamedRule, parent *unstructured.Unstructured, find findFunc) (Rule, string) {
	resource, err := find(named.GroupVersion().String(), named.Resource)
	if err != nil {
		return Rule{}, err.Error()
	}
	rule := Rule{resource: resource, namespace: named.Namespace, selector: labels.Everything(), names: map[string]bool{}}
	if rule.namespace == "" {
		rule.namespace = parent.GetNamespace()
	}
	// What version v1 of the hook may ask for does not matter: it asks for nothing here.
	scope := &Customize{Namespaced: c.Namespaced}
	rule, problem := scope.restrictScope(rule, ruleFields{Namespace: rule.namespace}, parent)
	if problem == "" && resource.Namespaced && rule.namespace == "" {
		problem = NamespaceRequired(named.Resource)
	}
	return rule, cmp.Or(problem, named.collect(rule.names, parent.Object, named.steps, ""))
}

// NamespaceRequired tells that an entry for a resource with parents in no namespace has no namespace either.
func NamespaceRequired(resource string) string {
	return fmt.Sprintf("%s are in a namespace, and parents without one do not say in which: set namespace", resource)
}

// collect adds the names at the end of steps below a value, which is at a path of the parent. It returns the problem, or "". Messages do
// not have the value, as the parent may be a Secret.
func (n *NamedRule) collect(names map[string]bool, value any, steps []string, at string) string {
	wrong := func(want string) string {
		return fmt.Sprintf("%s of the parent must be %s, but is %s: change the parent, or the path %s", cmp.Or(at, "the content"), want,
			jsonvalue.KindOf(value), n.path)
	}
	if value == nil || value == "" {
		return ""
	}
	if len(steps) == 0 {
		name, ok := value.(string)
		if !ok {
			return wrong("the name of an object, a string")
		}
		if problems := content.IsPathSegmentName(name); len(problems) > 0 {
			return fmt.Sprintf("%s of the parent is no name of an object, which %s: change it in the parent", at, problems[0])
		}
		names[name] = true
		return ""
	}
	if steps[0] == allItems {
		items, ok := value.([]any)
		if !ok {
			return wrong("a list")
		}
		problem := ""
		for i, item := range items {
			problem = cmp.Or(problem, n.collect(names, item, steps[1:], fmt.Sprintf("%s[%d]", at, i)))
		}
		return problem
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return wrong("an object")
	}
	return n.collect(names, fields[steps[0]], steps[1:], strings.TrimPrefix(at+"."+steps[0], "."))
}

// NamedInputs returns the inputs that decide which objects a parent names.
func (c *Customize) NamedInputs() (read answers.Inputs) {
	for _, named := range c.Named {
		read |= answers.InputsIn(engines.ReadSet{"parent." + strings.Join(named.steps, ".")})
	}
	return read
}
