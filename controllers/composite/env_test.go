package composite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// The kinds of the rollout tests: sets are parents, and each of their spec.names
// is an item; nodes are items without a namespace, and notes follow at once.
var (
	sets  = resourceFor("Set", "sets", true)
	items = resourceFor("Item", "items", true)
	nodes = resourceFor("Node", "nodes", false)
	notes = resourceFor("Note", "notes", true)
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func resourceFor(kind, plural string, namespaced bool) discovery.Resource {
	group := schema.GroupVersion{Group: "test.example", Version: "v1"}
	return discovery.Resource{GroupVersionResource: group.WithResource(plural), Kind: group.WithKind(kind), Namespaced: namespaced, HasStatus: true}
}

// env is a cluster with one parent.
type env struct {
	config    Config
	parent    *unstructured.Unstructured
	children  []*unstructured.Unstructured
	revisions []*unstructured.Unstructured
	now       time.Time
	answer    func(call variant.Call) (any, error)
	created   int
	upToDate  func(observed, desired *unstructured.Unstructured) (bool, error)
	// scripts is the ID of the scripts that serve.
	scripts string
}

// scope is where the parent and its children are.
type scope struct{ parent, child string }

var (
	bothInNamespace = scope{"prod", "prod"}
	childInOne      = scope{"", "prod"}
	bothInNone      = scope{"", ""}
)

func (s scope) resource() discovery.Resource {
	if s.child == "" {
		return nodes
	}
	return items
}

// newEnv returns an env whose items are updated by the strategy, which is YAML.
func newEnv(t *testing.T, s scope, strategy string, names ...string) *env {
	t.Helper()
	rolling := &v1alpha1.ChildUpdateStrategy{}
	if err := yaml.UnmarshalStrict([]byte(strategy), rolling); err != nil {
		t.Fatal(err)
	}
	atOnce := &v1alpha1.ChildUpdateStrategy{Method: v1alpha1.ChildUpdateInPlace}
	generate, child := true, s.resource()
	e := &env{now: start, config: Config{
		Definition: map[string]any{"metadata": map[string]any{"name": "sets"}},
		Spec: v1alpha1.CompositeControllerSpec{
			GenerateSelector: &generate,
			ParentResource:   v1alpha1.CompositeParentRule{RevisionHistory: &v1alpha1.RevisionHistory{FieldPaths: []string{"spec.template"}}},
			ChildResources:   []v1alpha1.CompositeChildRule{ruleFor(child, rolling), ruleFor(notes, atOnce)},
			Hooks:            &v1alpha1.CompositeHooks{Sync: &v1alpha1.Hook{Version: v1alpha1.HookV2}, Finalize: &v1alpha1.Hook{}},
		},
		Parent:            sets,
		Children:          []variant.ChildRule{{Resource: child, Method: apply.Method(rolling.Method.WithoutRolling())}, {Resource: notes, Method: apply.InPlace}},
		RevisionNamespace: "host",
	}}
	e.parent = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.example/v1", "kind": "Set",
		"metadata": map[string]any{"name": "web", "uid": "u1", "generation": int64(1)},
		"spec":     map[string]any{"template": map[string]any{"image": "v1"}},
	}}
	if s.parent != "" {
		e.parent.SetNamespace(s.parent)
	}
	e.setNames(names...)
	e.answer = func(call variant.Call) (any, error) { return itemsHook(call, s), nil }
	return e
}

func ruleFor(r discovery.Resource, s *v1alpha1.ChildUpdateStrategy) v1alpha1.CompositeChildRule {
	return v1alpha1.CompositeChildRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: r.GroupVersion().String(), Resource: r.GroupVersionResource.Resource},
		UpdateStrategy: s,
	}
}

// itemsHook returns an item with the template's image for each of spec.names.
func itemsHook(call variant.Call, s scope) map[string]any {
	p := call.Request["parent"].(map[string]any)
	image := valueAt(p, []string{"spec", "template", "image"})
	var children []any
	for _, name := range valueAt(p, []string{"spec", "names"}).([]any) {
		metadata := map[string]any{"name": name}
		if s.child != "" {
			metadata["namespace"] = s.child
		}
		children = append(children, map[string]any{
			"apiVersion": "test.example/v1", "kind": s.resource().Kind.Kind, "metadata": metadata,
			"spec": map[string]any{"image": image},
		})
	}
	return map[string]any{"children": children, "status": map[string]any{"seen": image}}
}

// setNames sets the names of the parent's items, and setImage the image of its template.
func (e *env) setNames(names ...string) {
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	e.parent.Object["spec"] = jsonvalue.WithValueAt(e.parent.Object["spec"].(map[string]any), []string{"names"}, list)
}

func (e *env) setImage(image string) {
	e.parent.Object["spec"] = jsonvalue.WithValueAt(e.parent.Object["spec"].(map[string]any), []string{"template", "image"}, image)
	e.parent.SetGeneration(e.parent.GetGeneration() + 1)
}

// observed returns a copy of everything, as another process would see it.
func (e *env) observed() variant.Observed {
	o := variant.Observed{Parent: e.parent.DeepCopy(), Now: e.now, UpToDate: e.upToDate, ScriptRevision: e.scripts}
	for _, child := range e.children {
		o.Children = append(o.Children, child.DeepCopy())
	}
	for _, revision := range e.revisions {
		o.Revisions = append(o.Revisions, revision.DeepCopy())
	}
	for _, list := range [][]*unstructured.Unstructured{o.Children, o.Revisions} {
		slices.SortFunc(list, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	return o
}

// desired returns the desired state of a new variant.
func (e *env) desired(o variant.Observed) (variant.Desired, error) {
	v := New(e.config)
	calls, err := v.Calls(o)
	if err != nil {
		return variant.Desired{}, err
	}
	answers := make([]variant.Answer, len(calls))
	for i, call := range calls {
		body, err := e.answer(call)
		answers[i] = variant.Answer{Call: call, Body: body, Err: err}
	}
	return v.Desired(o, answers)
}

// writes returns the writes of a reconcile: those of ControllerRevisions, in any order, and
// the others in this order. They are independent of each other.
func (e *env) writes(t *testing.T, o variant.Observed, d variant.Desired) (records, rest []func()) {
	t.Helper()
	observed := map[string]*unstructured.Unstructured{}
	for _, r := range o.Revisions {
		observed[r.GetName()] = r
	}
	for _, r := range d.Revisions {
		if observed[r.GetName()] != r {
			records = append(records, func() { e.revisions = e.put(e.revisions, r.DeepCopy()) })
		}
		delete(observed, r.GetName())
	}
	for _, r := range observed {
		records = append(records, func() { e.revisions = remove(e.revisions, r) })
	}
	for _, change := range e.changes(t, o, d) {
		rest = append(rest, func() { e.perform(change) })
	}
	if status, _ := o.Parent.Object["status"].(map[string]any); !jsonvalue.Equal(status, d.Status) {
		rest = append(rest, func() { e.parent.Object["status"] = d.Status })
	}
	return records, rest
}

func (e *env) changes(t *testing.T, o variant.Observed, d variant.Desired) []apply.Change {
	t.Helper()
	input := apply.Input{Owner: metav1.OwnerReference{UID: "u1"}}
	for _, rule := range e.config.Children {
		input.Rules = append(input.Rules, apply.Rule{Kind: rule.Kind, Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Method: rule.Method})
	}
	keep := func(object *unstructured.Unstructured) bool { return d.Keep[apply.KeyOf(object)] }
	input.Observed = slices.DeleteFunc(slices.Clone(o.Children), keep)
	input.Desired = slices.DeleteFunc(slices.Clone(d.Children), keep)
	changes, err := apply.Diff(input)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func (e *env) perform(c apply.Change) {
	switch c.Action {
	case apply.ActionCreate:
		object := c.Object.DeepCopy()
		object.SetGeneration(1)
		e.children = e.put(e.children, object)
	case apply.ActionUpdate:
		object := c.Object.DeepCopy()
		object.SetGeneration(c.Observed.GetGeneration() + 1)
		e.children = e.put(e.children, object)
	default:
		object := c.Observed.DeepCopy()
		object.SetDeletionTimestamp(&metav1.Time{Time: e.now})
		e.children = e.put(e.children, object)
	}
}

func (e *env) put(list []*unstructured.Unstructured, object *unstructured.Unstructured) []*unstructured.Unstructured {
	if object.GetUID() == "" {
		e.created++
		object.SetUID(types.UID(fmt.Sprintf("x%d", e.created)))
		object.SetCreationTimestamp(metav1.NewTime(e.now))
	}
	return append(remove(list, object), object)
}

func remove(list []*unstructured.Unstructured, object *unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(list), func(o *unstructured.Unstructured) bool { return apply.KeyOf(o) == apply.KeyOf(object) })
}

// becomeReady removes children that are being deleted and makes the others ready.
func (e *env) becomeReady() {
	e.children = slices.DeleteFunc(e.children, func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	for _, child := range e.children {
		setReady(child, "True")
	}
}

func setReady(child *unstructured.Unstructured, status string) {
	child.Object["status"] = map[string]any{
		"observedGeneration": child.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": status, "reason": "Because"}},
	}
}

// reconcile makes a whole reconcile and returns the number of writes.
func (e *env) reconcile(t *testing.T) int {
	t.Helper()
	o := e.observed()
	d, err := e.desired(o)
	if err != nil {
		t.Fatal(err)
	}
	records, rest := e.writes(t, o, d)
	for _, write := range append(records, rest...) {
		write()
	}
	return len(records) + len(rest)
}

// describeCondition returns the condition on the parent, as "True OnLatestRevision: message".
func describeCondition(status map[string]any) string {
	c := jsonvalue.Condition(map[string]any{"status": status}, "Updated")
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%v %v: %v", c["status"], c["reason"], c["message"])
}

// images returns the items as "a=v1 b=v2".
func images(children []*unstructured.Unstructured) string {
	var words []string
	for _, child := range children {
		words = append(words, fmt.Sprintf("%s=%v", child.GetName(), valueAt(child.Object, []string{"spec", "image"})))
	}
	return strings.Join(words, " ")
}

// describeRevisions returns the revisions as "v2: a b".
func describeRevisions(revisions []*unstructured.Unstructured) []string {
	var lines []string
	for _, r := range revisions {
		line := fmt.Sprintf("%v:", valueAt(r.Object, []string{"parentPatch", "spec", "template", "image"}))
		for _, id := range childIDsOf(r, "prod") {
			line += " " + id.name
		}
		lines = append(lines, line)
	}
	return lines
}
