package related

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/engines"
)

// Limits is what a customize hook may ask for.
type Limits struct {
	// Declared lists what may be asked for. Nil means anything, but see RefuseSecrets; an empty
	// list means nothing.
	Declared []DeclaredRule
	// RefuseSecrets refuses Secrets if nothing is declared.
	RefuseSecrets bool
}

// DeclaredRule is an entry of spec.relatedResources. What is not set is not restricted.
type DeclaredRule struct {
	schema.GroupVersionResource
	Namespace          string
	Names              []string
	Labels, Namespaces labels.Selector
}

// secretResource is the resource that a script has to have declared.
var secretResource = corev1.SchemeGroupVersion.WithResource("secrets").GroupResource()

// restrict returns the rules that select what both rule and the declaration select. The second
// result is why the rule is refused, or "": a resource, a name or a namespace that is not declared
// is a mistake of one of the two, while labels may differ from object to object.
func (l *Limits) restrict(rule *Rule) ([]*Rule, string) {
	if l.Declared == nil {
		if l.RefuseSecrets && rule.resource.GroupResource() == secretResource {
			return nil, "asks for Secrets, which a script may read only if its definition declares them: list them in spec.relatedResources"
		}
		return []*Rule{rule}, ""
	}
	var entries []*DeclaredRule
	for i := range l.Declared {
		if l.Declared[i].GroupVersionResource == rule.resource.GroupVersionResource {
			entries = append(entries, &l.Declared[i])
		}
	}
	if !isDeclared(rule, entries) {
		return nil, refusal(rule, entries)
	}
	var restricted []*Rule
	for _, entry := range entries {
		if both := entry.intersect(rule); both != nil {
			restricted = append(restricted, both)
		}
	}
	return restricted, ""
}

// isDeclared reports whether each name and the namespace of a rule are in some entry. A rule without
// names needs an entry without.
func isDeclared(rule *Rule, entries []*DeclaredRule) bool {
	declares := func(name string) bool {
		return slices.ContainsFunc(entries, func(e *DeclaredRule) bool {
			return (e.Namespace == "" || e.Namespace == rule.namespace) && (e.Names == nil || name != "" && slices.Contains(e.Names, name))
		})
	}
	if rule.names == nil {
		return declares("")
	}
	for name := range rule.names {
		if !declares(name) {
			return false
		}
	}
	return true
}

// intersect returns a rule for what both select, or nil if there can be no such object.
func (d *DeclaredRule) intersect(rule *Rule) *Rule {
	both := *rule
	switch {
	case d.Namespace == "":
	case rule.namespace != "" && rule.namespace != d.Namespace:
		return nil
	default:
		both.namespace = d.Namespace
	}
	if d.Names != nil {
		both.names = map[string]bool{}
		for _, name := range d.Names {
			if rule.names == nil || rule.names[name] {
				both.names[name] = true
			}
		}
		if len(both.names) == 0 {
			return nil
		}
	}
	both.selector = intersectSelectors(rule.selector, d.Labels)
	both.namespaces = intersectSelectors(rule.namespaces, d.Namespaces)
	return &both
}

// intersectSelectors returns a selector for what both match. Nil matches everything.
func intersectSelectors(a, b labels.Selector) labels.Selector {
	switch {
	case b == nil:
		return a
	case a == nil:
		return b
	}
	requirements, selectable := b.Requirements()
	if !selectable {
		return b
	}
	return a.Add(requirements...)
}

// refusal returns the message about a rule that asks for more than the entries for its resource
// declare.
func refusal(rule *Rule, entries []*DeclaredRule) string {
	asked := (&DeclaredRule{
		GroupVersionResource: rule.resource.GroupVersionResource, Namespace: rule.namespace, Names: slices.Sorted(maps.Keys(rule.names)),
	}).String()
	if rule.namespace == "" && rule.resource.Namespaced {
		asked += " in all namespaces"
	}
	if len(entries) == 0 {
		return fmt.Sprintf("asks for %s, and spec.relatedResources declares no %s of %s: declare them there, or do not ask for them",
			asked, rule.resource.Resource, rule.resource.GroupVersion())
	}
	var declared []string
	for _, entry := range entries[:min(len(entries), maxShown)] {
		declared = append(declared, entry.String())
	}
	if more := len(entries) - maxShown; more > 0 {
		declared = append(declared, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("asks for %s, and spec.relatedResources declares %s only: ask for no more than that, or declare more there",
		asked, strings.Join(declared, ", and "))
}

// maxShown bounds the names and entries in a message, and maxShownBytes each of the names.
const (
	maxShown      = 3
	maxShownBytes = 64
)

// String returns the resource, the names and the namespace in words, shortened.
func (d *DeclaredRule) String() string {
	var b strings.Builder
	if len(d.Names) == 0 {
		b.WriteString("all ")
	}
	b.WriteString(d.Resource)
	for i, name := range d.Names[:min(len(d.Names), maxShown)] {
		fmt.Fprintf(&b, "%s%q", []string{" named ", ", "}[min(i, 1)], engines.Truncate(name, maxShownBytes))
	}
	if more := len(d.Names) - maxShown; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	if d.Namespace != "" {
		fmt.Fprintf(&b, " in namespace %q", engines.Truncate(d.Namespace, maxShownBytes))
	}
	return b.String()
}

// maxRelatedRules and maxRelatedTerms bound what one parent asks for: different rules, and the names,
// labels and values of labels in them.
const (
	maxRelatedRules = 100
	maxRelatedTerms = 10_000
)

// ruleList collects the rules of one parent, each once, within the limits.
type ruleList struct {
	limits *Limits
	rules  []*Rule
	asked  map[ruleID]bool // the rules of the answer
	known  map[ruleID]bool // those of rules
	terms  int
}

func newRuleList(limits *Limits) *ruleList {
	return &ruleList{limits: limits, asked: map[ruleID]bool{}, known: map[ruleID]bool{}}
}

// add adds a rule. It returns why it is refused, or "".
func (l *ruleList) add(rule *Rule) string {
	id := rule.id()
	if l.asked[id] {
		return ""
	}
	l.asked[id] = true
	if len(l.asked) > maxRelatedRules {
		return fmt.Sprintf("a parent may have at most %d different rules: let one rule select several objects, by names or by a label",
			maxRelatedRules)
	}
	restricted, problem := l.limits.restrict(rule)
	for _, rule := range restricted {
		if id := rule.id(); !l.known[id] {
			l.known[id] = true
			l.rules = append(l.rules, rule)
			l.terms += rule.terms()
		}
	}
	if l.terms > maxRelatedTerms {
		return fmt.Sprintf("the rules of a parent may have at most %d names, labels and values of labels: "+
			"give the objects a label in common, and select them by that", maxRelatedTerms)
	}
	return problem
}
