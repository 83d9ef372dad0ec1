package related

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// Hook is the hook that selects related objects.
const Hook = "customize"

// Customize configures how a definition's related objects are selected: by a customize hook, by names in the parents, or by both.
type Customize struct {
	// Definition is the definition as hooks see it.
	Definition map[string]any
	// OwnNamespace limits the rules of a namespaced parent to its namespace, as version v1 of
	// the hook does (section 1.5 of the specification).
	OwnNamespace bool
	// Namespaced is set for a definition with a namespace, of which parents and related objects are.
	Namespaced bool
	// RefuseUnknown rejects unknown fields of the response.
	RefuseUnknown bool
	// Unwrap is that of variant.ResponseRules.
	Unwrap string
	// Limits is what the hook may ask for.
	Limits Limits
	// Absent is set if there is no hook, and the parents name what is related.
	Absent bool
	// Named are the objects that parents name.
	Named []NamedRule
	// Find returns the resource of an apiVersion and plural.
	Find findFunc
}

type findFunc func(apiVersion, resource string) (discovery.Resource, error)

// Rules returns the rules of an answer about a parent, or what is wrong with it.
func (c *Customize) Rules(answer variant.Answer, parent *unstructured.Unstructured, find findFunc) ([]*Rule, error) {
	response := variant.ReadResponse(answer, variant.ResponseRules{
		Fields: []string{"relatedResources"}, RefuseUnknown: c.RefuseUnknown, AllowAbsentList: true, Unwrap: c.Unwrap,
	})
	rules := newRuleList(&c.Limits)
	for i, fields := range response.Maps("relatedResources") {
		rule, problem := c.parseRule(fields, parent, find)
		if problem == "" {
			problem = rules.add(&rule)
		}
		if problem != "" {
			response.Failf("relatedResources[%d]: %s", i, problem)
			break
		}
	}
	return rules.rules, response.Err()
}

// ruleFields is a rule as hooks write it.
type ruleFields struct {
	APIVersion        string                `json:"apiVersion"`
	Resource          string                `json:"resource"`
	LabelSelector     *metav1.LabelSelector `json:"labelSelector"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	Namespace         string                `json:"namespace"`
	Names             []string              `json:"names"`
}

// parseRule parses one rule and checks it (section 1.5 of the specification). The second result
// is the problem, or "".
func (c *Customize) parseRule(fields map[string]any, parent *unstructured.Unstructured, find findFunc) (Rule, string) {
	if problem := c.wrongField(fields); problem != "" {
		return Rule{}, problem
	}
	var f ruleFields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &f, c.RefuseUnknown); err != nil {
		return Rule{}, err.Error()
	}
	resource, err := find(f.APIVersion, f.Resource)
	if err != nil {
		return Rule{}, err.Error()
	}
	rule := Rule{resource: resource, namespace: f.Namespace, selector: labels.Everything()}
	if len(f.Names) > 0 {
		rule.names = maps.Collect(each(f.Names))
	}
	if err := errors.Join(
		compileSelector(&rule.selector, "labelSelector", f.LabelSelector),
		compileSelector(&rule.namespaces, "namespaceSelector", f.NamespaceSelector),
	); err != nil {
		return Rule{}, err.Error()
	}
	return c.restrictScope(rule, f, parent)
}

// wrongField returns what is wrong with the shape of a rule, or "". The converter's words have neither the field nor what it may be.
func (c *Customize) wrongField(rule map[string]any) string {
	for _, field := range variant.SortedKeys(rule) {
		value := rule[field]
		problem := ""
		switch field {
		case "apiVersion", "resource", "namespace":
			problem = wrongKind(field, value, "a string", "")
		case "labelSelector", "namespaceSelector":
			problem = c.wrongSelector(field, value)
		case "names":
			problem = wrongList(field, value, "a string", " of strings")
		default:
			if c.RefuseUnknown {
				problem = unknownRuleField(field)
			}
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

const (
	labelsAdvice      = ": write {matchLabels: {KEY: VALUE}}"
	expressionsAdvice = ": write [{key: KEY, operator: In, values: [VALUE]}], or with operator NotIn, Exists or DoesNotExist"
)

func (c *Customize) wrongSelector(path string, value any) string {
	if problem := wrongKind(path, value, "an object", ""); problem != "" {
		return problem + labelsAdvice
	}
	selector := jsonvalue.AsObject(value)
	for _, field := range variant.SortedKeys(selector) {
		if c.RefuseUnknown && field != "matchLabels" && field != "matchExpressions" {
			return fmt.Sprintf("%s.%s: is no field of a selector, which has matchLabels, matchExpressions%s", path, field, labelsAdvice)
		}
	}
	problem := wrongKind(path+".matchLabels", selector["matchLabels"], "an object", "")
	matchLabels := jsonvalue.AsObject(selector["matchLabels"])
	for _, label := range variant.SortedKeys(matchLabels) {
		problem = cmp.Or(problem, wrongKind(path+".matchLabels."+label, matchLabels[label], "a string", ""))
	}
	return cmp.Or(problem, c.wrongExpressions(path+".matchExpressions", selector["matchExpressions"]))
}

func (c *Customize) wrongExpressions(path string, value any) string {
	problem := wrongList(path, value, "an object", " of objects")
	expressions, _ := value.([]any)
	for i, expression := range expressions {
		fields, at := jsonvalue.AsObject(expression), fmt.Sprintf("%s[%d].", path, i)
		for _, field := range variant.SortedKeys(fields) {
			switch {
			case field == "key", field == "operator":
				problem = cmp.Or(problem, wrongKind(at+field, fields[field], "a string", ""))
			case field == "values":
				problem = cmp.Or(problem, wrongList(at+field, fields[field], "a string", " of strings"))
			case c.RefuseUnknown:
				problem = cmp.Or(problem, at+field+": is no field of an expression, which has key, operator, values")
			}
		}
	}
	if problem != "" {
		problem += expressionsAdvice
	}
	return problem
}

// wrongList returns that a value is not null and no list, or that an item of it is not of a kind, or "".
func wrongList(path string, value any, kind, of string) string {
	problem := wrongKind(path, value, "a list", of)
	items, _ := value.([]any)
	for i, item := range items {
		problem = cmp.Or(problem, wrongKind(fmt.Sprintf("%s[%d]", path, i), item, kind, ""))
	}
	return problem
}

// wrongKind returns that a value is not null and not of a kind, in the words of jsonvalue.KindOf, or "".
func wrongKind(path string, value any, kind, of string) string {
	if value == nil || jsonvalue.KindOf(value) == kind {
		return ""
	}
	return fmt.Sprintf("%s: must be %s%s, but is %s", path, kind, of, jsonvalue.KindOf(value))
}

func unknownRuleField(field string) string {
	known := []string{"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"}
	meant := spelling.Meant(field, known)
	switch field {
	case "selector", "labels", "matchLabels":
		meant = "did you mean labelSelector?"
	case "kind":
		meant = "did you mean resource?"
	}
	problem := fmt.Sprintf("%s: is no field of a rule, which has %s", field, strings.Join(known, ", "))
	if meant != "" {
		problem += ": " + meant
	}
	return problem
}

// restrictScope checks a rule's combination of fields and limits it to the parent's namespace if
// the hook's version does.
func (c *Customize) restrictScope(rule Rule, f ruleFields, parent *unstructured.Unstructured) (Rule, string) {
	own := (c.OwnNamespace || c.Namespaced) && parent.GetNamespace() != "" && rule.resource.Namespaced
	subject, remedy := "version v1 of the hook", "use version v2"
	if c.Namespaced {
		subject, remedy = "a definition with a namespace", "leave it out"
	}
	switch {
	case c.Namespaced && !rule.resource.Namespaced:
		return rule, fmt.Sprintf("resource: %s are in no namespace, and %s sees only its own",
			rule.resource.GroupVersionResource.Resource, subject)
	case rule.names != nil && (f.LabelSelector != nil || f.NamespaceSelector != nil):
		return rule, "names can't be combined with labelSelector or namespaceSelector: write two rules"
	case f.Namespace != "" && f.NamespaceSelector != nil:
		return rule, "namespace can't be combined with namespaceSelector: leave one of them out"
	case f.NamespaceSelector != nil && !rule.resource.Namespaced:
		return rule, fmt.Sprintf("namespaceSelector: %s are in no namespace: leave it out", rule.resource.GroupVersionResource.Resource)
	case own && f.NamespaceSelector != nil:
		return rule, fmt.Sprintf("namespaceSelector: %s sees the parent's own namespace only: %s", subject, remedy)
	case own && f.Namespace != "" && f.Namespace != parent.GetNamespace():
		return rule, fmt.Sprintf("namespace: is %q, and %s sees the parent's own, %q, only: %s",
			f.Namespace, subject, parent.GetNamespace(), remedy)
	case own:
		rule.namespace = parent.GetNamespace()
	case !rule.resource.Namespaced:
		rule.namespace = ""
	}
	return rule, ""
}

// compileSelector compiles a selector if it is given.
func compileSelector(selector *labels.Selector, name string, given *metav1.LabelSelector) error {
	if given == nil {
		return nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(given)
	if err == nil {
		*selector = compiled
		return nil
	}
	// Its words have no place. Those of the API server, which takes no more than it, have one.
	problems := validation.ValidateLabelSelector(given, validation.LabelSelectorValidationOptions{}, field.NewPath(name))
	switch {
	case len(problems) == 0:
		return fmt.Errorf("%s: %w", name, err)
	case strings.Contains(problems[0].Field, "matchExpressions"):
		return fmt.Errorf("%w%s", problems[0], expressionsAdvice)
	}
	return problems[0]
}

func each(names []string) func(func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for _, name := range names {
			if !yield(name, true) {
				return
			}
		}
	}
}
