package related

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Rule is one rule of a customize answer: it selects objects of a resource by name or
// label, in one namespace, in selected namespaces, or in all. It never changes.
type Rule struct {
	resource   discovery.Resource
	namespace  string // "" means any
	names      map[string]bool
	selector   labels.Selector
	namespaces labels.Selector // nil means by namespace alone
}

// Resource returns the resource whose objects are related.
func (r *Rule) Resource() discovery.Resource { return r.resource }

// Namespace returns where the objects are, or "" for everywhere. ok is false if a selector of namespaces says that.
func (r *Rule) Namespace() (namespace string, ok bool) { return r.namespace, r.namespaces == nil }

// Names returns the names of the objects, sorted, or none if they are selected by labels.
func (r *Rule) Names() []string { return slices.Sorted(maps.Keys(r.names)) }

// ruleID identifies a rule by its content.
type ruleID [sha256.Size]byte

// id returns the same for rules that select the same by the same means.
func (r *Rule) id() ruleID {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q ", r.resource.GroupVersionResource, r.resource.Kind, r.namespace)
	if r.names != nil {
		fmt.Fprintf(&b, "names %q ", slices.Sorted(maps.Keys(r.names)))
	}
	for _, selector := range []labels.Selector{r.selector, r.namespaces} {
		if selector != nil {
			_, selectable := selector.Requirements()
			fmt.Fprintf(&b, "selector %v %q ", selectable, selector.String())
		}
	}
	return sha256.Sum256([]byte(b.String()))
}

// terms returns the number of names, labels and values of labels in the rule.
func (r *Rule) terms() int {
	n := len(r.names)
	for _, selector := range []labels.Selector{r.selector, r.namespaces} {
		if selector == nil {
			continue
		}
		requirements, _ := selector.Requirements()
		for i := range requirements {
			n += 1 + len(requirements[i].ValuesUnsorted())
		}
	}
	return n
}

// candidate is what rules match of an object.
type candidate struct {
	namespace, name string
	labels          labels.Set
	// namespaceLabels are those of its namespace. They are unset if no rule selects namespaces.
	namespaceLabels labels.Set
}

// matches reports whether the rule selects an object of its resource.
func (r *Rule) matches(object *candidate) bool {
	switch {
	case r.namespace != "" && r.namespace != object.namespace:
		return false
	case r.names != nil && !r.names[object.name]:
		return false
	case !r.selector.Matches(object.labels):
		return false
	default:
		return r.namespaces == nil || r.namespaces.Matches(object.namespaceLabels)
	}
}

// selectsNamespace reports whether the rule selects objects in a namespace by its labels. It does not in one
// that is not known, which is nil, whatever the selector: its labels may be any.
func (r *Rule) selectsNamespace(namespace *unstructured.Unstructured) bool {
	return namespace != nil && r.namespaces.Matches(LabelsOf(namespace))
}

// indexKey identifies an entry of the index: a name or a label, in one namespace or in any.
type indexKey struct {
	resource  schema.GroupVersionResource
	namespace string
	token     string
}

// indexKeys returns the keys under which objects find the rule: names, labels, or labels of the
// namespace if the rule has nothing more selective. Namespaces find a rule that selects them under
// keys of namespaceKey.
func (r *Rule) indexKeys() []indexKey {
	gvr := r.resource.GroupVersionResource
	var keys []indexKey
	byNamespace := false
	if r.names != nil {
		for name := range r.names {
			keys = append(keys, indexKey{gvr, r.namespace, "/" + name})
		}
	} else {
		tokens := selectorTokens(r.selector)
		if byNamespace = r.namespaces != nil && r.namespace == "" && slices.Contains(tokens, anyToken); !byNamespace {
			for _, token := range tokens {
				keys = append(keys, indexKey{gvr, r.namespace, token})
			}
		}
	}
	if r.namespaces == nil {
		return keys
	}
	for _, token := range selectorTokens(r.namespaces) {
		keys = append(keys, namespaceKey(token))
		if byNamespace {
			keys = append(keys, indexKey{gvr, "", ofNamespace + token})
		}
	}
	return keys
}

// namespaceKey returns the index key of the rules that select namespaces by a token.
func namespaceKey(token string) indexKey {
	return indexKey{waiters.NamespaceResource, "selected", token}
}

const (
	// anyToken is the token of selectors that nothing narrows down.
	anyToken = "*"
	// ofNamespace is the prefix of a token of an object's namespace.
	ofNamespace = "namespace "
)

// selectorTokens returns tokens of which the labels that a selector matches have exactly one: those
// of informer.Pairs, or else the key of a label that has to be there.
func selectorTokens(selector labels.Selector) []string {
	tokens := informer.Pairs(selector)
	if !slices.Contains(tokens, anyToken) {
		return tokens
	}
	requirements, _ := selector.Requirements()
	for i := range requirements {
		switch requirements[i].Operator() {
		case selection.Exists, selection.GreaterThan, selection.LessThan:
			return []string{requirements[i].Key()}
		}
	}
	return tokens
}

// labelTokens returns the tokens that selectors of these labels may have.
func labelTokens(set labels.Set) []string {
	return slices.AppendSeq(informer.PairsOf(set), maps.Keys(set))
}

// keysOf returns the keys of the rules that may select an object.
func keysOf(gvr schema.GroupVersionResource, object *candidate) []indexKey {
	tokens := append(labelTokens(object.labels), "/"+object.name)
	if object.namespaceLabels != nil {
		for _, token := range labelTokens(object.namespaceLabels) {
			tokens = append(tokens, ofNamespace+token)
		}
	}
	keys := make([]indexKey, 0, 2*len(tokens))
	for _, token := range tokens {
		keys = append(keys, indexKey{gvr, "", token})
		if object.namespace != "" {
			keys = append(keys, indexKey{gvr, object.namespace, token})
		}
	}
	return keys
}

// newCandidate returns what rules match of an object. namespaces is the cache of namespaces, or
// nil if no rule selects them.
func newCandidate(object *unstructured.Unstructured, namespaces *informer.Handle) *candidate {
	o := &candidate{namespace: object.GetNamespace(), name: object.GetName(), labels: object.GetLabels()}
	if namespaces != nil && o.namespace != "" {
		o.namespaceLabels = LabelsIn(namespaces, o.namespace)
	}
	return o
}

// LabelsIn returns the labels of a namespace, not nil.
func LabelsIn(namespaces *informer.Handle, namespace string) labels.Set {
	if set := LabelsOf(namespaces.Get("", namespace)); set != nil {
		return set
	}
	return labels.Set{}
}
