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
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/discovery"
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

// world is a cluster with one parent.
type world struct {
	config    Config
	parent    *unstructured.Unstructured
	children  []*unstructured.Unstructured
	revisions []*unstructured.Unstructured
	now       time.Time
	answer    func(call variant.Call) (any, error)
	created   int
	upToDate  func(observed, desired *unstructured.Unstructured) (bool, error)
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

// newWorld makes a world whose items are updated by the strategy, which is YAML.
func newWorld(t *testing.T, s scope, strategy string, names ...string) *world {
	t.Helper()
	rolling := &v1alpha1.ChildUpdateStrategy{}
	if err := yaml.UnmarshalStrict([]byte(strategy), rolling); err != nil {
		t.Fatal(err)
	}
	atOnce := &v1alpha1.ChildUpdateStrategy{Method: v1alpha1.ChildUpdateInPlace}
	generate, child := true, s.resource()
	w := &world{now: start, config: Config{
		Definition: map[string]any{"metadata": map[string]any{"name": "sets"}},
		Spec: v1alpha1.CompositeControllerSpec{
			GenerateSelector: &generate,
			ParentResource:   v1alpha1.CompositeParentRule{RevisionHistory: &v1alpha1.RevisionHistory{FieldPaths: []string{"spec.template"}}},
			ChildResources:   []v1alpha1.CompositeChildRule{ruleFor(child, rolling), ruleFor(notes, atOnce)},
			Hooks:            &v1alpha1.CompositeHooks{Sync: &v1alpha1.Hook{Version: v1alpha1.HookV2}, Finalize: &v1alpha1.Hook{}},
		},
		Parent:            sets,
		Children:          []variant.ChildRule{{Resource: child, Method: apply.Method(rolling.Method.AtOnce())}, {Resource: notes, Method: apply.InPlace}},
		RevisionNamespace: "host",
	}}
	w.parent = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.example/v1", "kind": "Set",
		"metadata": map[string]any{"name": "web", "uid": "u1", "generation": int64(1)},
		"spec":     map[string]any{"template": map[string]any{"image": "v1"}},
	}}
	if s.parent != "" {
		w.parent.SetNamespace(s.parent)
	}
	w.want(names...)
	w.answer = func(call variant.Call) (any, error) { return itemsHook(call, s), nil }
	return w
}

func ruleFor(r discovery.Resource, s *v1alpha1.ChildUpdateStrategy) v1alpha1.CompositeChildRule {
	return v1alpha1.CompositeChildRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: r.GroupVersion().String(), Resource: r.GroupVersionResource.Resource},
		UpdateStrategy: s,
	}
}

// itemsHook wants an item with the template's image for each of spec.names.
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

// want sets the parent's names, and turn its template.
func (w *world) want(names ...string) {
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	w.parent.Object["spec"] = withValue(w.parent.Object["spec"].(map[string]any), []string{"names"}, list)
}

func (w *world) turn(image string) {
	w.parent.Object["spec"] = withValue(w.parent.Object["spec"].(map[string]any), []string{"template", "image"}, image)
	w.parent.SetGeneration(w.parent.GetGeneration() + 1)
}

// observed gives a copy of everything, as another process would see it.
func (w *world) observed() variant.Observed {
	o := variant.Observed{Parent: w.parent.DeepCopy(), Now: w.now, UpToDate: w.upToDate}
	for _, child := range w.children {
		o.Children = append(o.Children, child.DeepCopy())
	}
	for _, revision := range w.revisions {
		o.Revisions = append(o.Revisions, revision.DeepCopy())
	}
	for _, list := range [][]*unstructured.Unstructured{o.Children, o.Revisions} {
		slices.SortFunc(list, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	return o
}

// decide asks a variant that knows nothing of earlier passes.
func (w *world) decide(o variant.Observed) (variant.Desired, error) {
	v := New(w.config)
	calls, err := v.Calls(o)
	if err != nil {
		return variant.Desired{}, err
	}
	answers := make([]variant.Answer, len(calls))
	for i, call := range calls {
		body, err := w.answer(call)
		answers[i] = variant.Answer{Call: call, Body: body, Err: err}
	}
	return v.Desired(o, answers)
}

// writes gives what a pass would write: first ControllerRevisions, in any order,
// then the rest in this order. None of the writes looks at the others.
func (w *world) writes(t *testing.T, o variant.Observed, d variant.Desired) (records, rest []func()) {
	t.Helper()
	observed := map[string]*unstructured.Unstructured{}
	for _, r := range o.Revisions {
		observed[r.GetName()] = r
	}
	for _, r := range d.Revisions {
		if observed[r.GetName()] != r {
			records = append(records, func() { w.revisions = w.put(w.revisions, r.DeepCopy()) })
		}
		delete(observed, r.GetName())
	}
	for _, r := range observed {
		records = append(records, func() { w.revisions = remove(w.revisions, r) })
	}
	for _, change := range w.changes(t, o, d) {
		rest = append(rest, func() { w.perform(change) })
	}
	if status, _ := o.Parent.Object["status"].(map[string]any); !jsonvalue.Equal(status, d.Status) {
		rest = append(rest, func() { w.parent.Object["status"] = d.Status })
	}
	return records, rest
}

func (w *world) changes(t *testing.T, o variant.Observed, d variant.Desired) []apply.Change {
	t.Helper()
	input := apply.Input{Owner: metav1.OwnerReference{UID: "u1"}}
	for _, rule := range w.config.Children {
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

func (w *world) perform(c apply.Change) {
	switch c.Action {
	case apply.ActionCreate:
		object := c.Object.DeepCopy()
		object.SetGeneration(1)
		w.children = w.put(w.children, object)
	case apply.ActionUpdate:
		object := c.Object.DeepCopy()
		object.SetGeneration(c.Observed.GetGeneration() + 1)
		w.children = w.put(w.children, object)
	default:
		object := c.Observed.DeepCopy()
		object.SetDeletionTimestamp(&metav1.Time{Time: w.now})
		w.children = w.put(w.children, object)
	}
}

func (w *world) put(list []*unstructured.Unstructured, object *unstructured.Unstructured) []*unstructured.Unstructured {
	if object.GetUID() == "" {
		w.created++
		object.SetUID(types.UID(fmt.Sprintf("x%d", w.created)))
		object.SetCreationTimestamp(metav1.NewTime(w.now))
	}
	return append(remove(list, object), object)
}

func remove(list []*unstructured.Unstructured, object *unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(list), func(o *unstructured.Unstructured) bool { return apply.KeyOf(o) == apply.KeyOf(object) })
}

// settle does what others do: what is being deleted goes, and what is there gets well.
func (w *world) settle() {
	w.children = slices.DeleteFunc(w.children, func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	for _, child := range w.children {
		setReady(child, "True")
	}
}

func setReady(child *unstructured.Unstructured, status string) {
	child.Object["status"] = map[string]any{
		"observedGeneration": child.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": status, "reason": "Because"}},
	}
}

// pass makes a whole pass and gives the number of writes.
func (w *world) pass(t *testing.T) int {
	t.Helper()
	o := w.observed()
	d, err := w.decide(o)
	if err != nil {
		t.Fatal(err)
	}
	records, rest := w.writes(t, o, d)
	for _, write := range append(records, rest...) {
		write()
	}
	return len(records) + len(rest)
}

// told is the condition on the parent, as "True OnLatestRevision".
func told(status map[string]any) string {
	conditions, _ := status["conditions"].([]any)
	c := conditionOf(conditions, "Updated")
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%v %v: %v", c["status"], c["reason"], c["message"])
}

// images are the items as "a=v1 b=v2".
func images(children []*unstructured.Unstructured) string {
	var words []string
	for _, child := range children {
		words = append(words, fmt.Sprintf("%s=%v", child.GetName(), valueAt(child.Object, []string{"spec", "image"})))
	}
	return strings.Join(words, " ")
}

// recorded are the revisions as "v2: a b".
func recorded(revisions []*unstructured.Unstructured) []string {
	var lines []string
	for _, r := range revisions {
		line := fmt.Sprintf("%v:", valueAt(r.Object, []string{"parentPatch", "spec", "template", "image"}))
		for _, id := range claimsOf(r, "prod") {
			line += " " + id.name
		}
		lines = append(lines, line)
	}
	return lines
}
