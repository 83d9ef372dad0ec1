package related

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// event enqueues the parents that selected the old or the new state of an object.
func (r *Index) event(gvr schema.GroupVersionResource, e informer.Event) {
	if e.Replay {
		return
	}
	r.mu.Lock()
	namespaces := r.namespaces
	r.mu.Unlock()
	var matched []*sharedRule
	if e.Old != nil && (e.New == nil || !maps.Equal(LabelsOf(e.Old), LabelsOf(e.New))) {
		matched = r.matching(gvr, newCandidate(e.Old, namespaces))
	}
	if e.New != nil {
		matched = append(matched, r.matching(gvr, newCandidate(e.New, namespaces))...)
	}
	r.enqueueParents(matched)
}

// matching returns the rules that select an object. Each rule that the index leads to is matched
// once, however many parents have it.
func (r *Index) matching(gvr schema.GroupVersionResource, object *candidate) []*sharedRule {
	var matched []*sharedRule
	for _, rule := range r.rulesOf(keysOf(gvr, object)) {
		if rule.matches(object) {
			matched = append(matched, rule)
		}
	}
	return matched
}

// rulesOf returns the rules under index keys.
func (r *Index) rulesOf(keys []indexKey) []*sharedRule {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rules []*sharedRule
	for _, key := range keys {
		for rule := range r.index[key] {
			rules = append(rules, rule)
		}
	}
	return rules
}

// namespaceEvent enqueues the parents whose rules begin or cease to select a namespace.
func (r *Index) namespaceEvent(e informer.Event) {
	before, after := LabelsOf(e.Old), LabelsOf(e.New)
	if e.Replay || e.Old != nil && e.New != nil && maps.Equal(before, after) {
		return
	}
	var keys []indexKey
	for _, set := range []labels.Set{before, after} {
		for _, token := range labelTokens(set) {
			keys = append(keys, namespaceKey(token))
		}
	}
	var matched []*sharedRule
	for _, rule := range r.rulesOf(keys) {
		if rule.selectsNamespace(e.Old) != rule.selectsNamespace(e.New) {
			matched = append(matched, rule)
		}
	}
	r.enqueueParents(matched)
}

// enqueueParents enqueues the parents of rules, each once.
func (r *Index) enqueueParents(rules []*sharedRule) {
	if len(rules) == 0 {
		return
	}
	keys := map[controller.Key]bool{}
	r.mu.Lock()
	for _, rule := range rules {
		maps.Copy(keys, rule.parents)
	}
	r.mu.Unlock()
	r.enqueueAll(keys)
}

// enqueueAll enqueues parents.
func (r *Index) enqueueAll(keys map[controller.Key]bool) {
	for key := range keys {
		r.Queue(key)
	}
}

// LabelsOf returns the labels of an object, which may be nil.
func LabelsOf(object *unstructured.Unstructured) labels.Set {
	if object == nil {
		return nil
	}
	return object.GetLabels()
}
