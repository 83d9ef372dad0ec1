package composite

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

func TestPatch(t *testing.T) {
	const object = `{spec: {replicas: 3, template: {image: v2, size: 1}}, metadata: {labels: {a: b}}, word: x}`
	cases := map[string]struct {
		reason string
		paths  []string
		patch  string // of the object
		old    string // a patch to go back to
		want   string // the object as it was then
	}{
		"Spec": {
			reason: "Without paths of its own a definition rolls out spec.", paths: []string{"spec"},
			patch: `{spec: {replicas: 3, template: {image: v2, size: 1}}}`, old: `{spec: {replicas: 1}}`,
			want: `{spec: {replicas: 1}, metadata: {labels: {a: b}}, word: x}`,
		},
		"Nested": {
			reason: "What is beside a path stays as it is.", paths: []string{"spec.template.image"},
			patch: `{spec: {template: {image: v2}}}`, old: `{spec: {template: {image: v1}}}`,
			want: `{spec: {replicas: 3, template: {image: v1, size: 1}}, metadata: {labels: {a: b}}, word: x}`,
		},
		"Several": {
			reason: "There may be several paths.", paths: []string{"spec.template", "metadata.labels"},
			patch: `{spec: {template: {image: v2, size: 1}}, metadata: {labels: {a: b}}}`, old: `{spec: {template: {image: v1}}, metadata: {labels: {a: c}}}`,
			want: `{spec: {replicas: 3, template: {image: v1}}, metadata: {labels: {a: c}}, word: x}`,
		},
		"Missing": {
			reason: "What the parent does not have is left out, and comes back with the old revision.", paths: []string{"spec.extra", "spec.template"},
			patch: `{spec: {template: {image: v2, size: 1}}}`, old: `{spec: {extra: {a: 1}, template: {image: v1}}}`,
			want: `{spec: {replicas: 3, extra: {a: 1}, template: {image: v1}}, metadata: {labels: {a: b}}, word: x}`,
		},
		"MissingThen": {
			reason: "What the parent did not have then is taken away.", paths: []string{"spec.template.size", "spec.template.image"},
			patch: `{spec: {template: {image: v2, size: 1}}}`, old: `{spec: {template: {image: v1}}}`,
			want: `{spec: {replicas: 3, template: {image: v1}}, metadata: {labels: {a: b}}, word: x}`,
		},
		"Through": {
			reason: "A path that leads through what is no object leads nowhere.", paths: []string{"word.more"},
			patch: `{}`, old: `{}`, want: object,
		},
		"Overlapping": {
			reason: "Paths may lie within each other.", paths: []string{"spec", "spec.template"},
			patch: `{spec: {replicas: 3, template: {image: v2, size: 1}}}`, old: `{spec: {replicas: 1, template: {image: v1}}}`,
			want: `{spec: {replicas: 1, template: {image: v1}}, metadata: {labels: {a: b}}, word: x}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			current, paths := parse(t, object), jsonvalue.SplitPaths(tc.paths)
			if diff := cmp.Diff(parse(t, tc.patch), patchOf(current, paths)); diff != "" {
				t.Errorf("%s\npatch -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, tc.want), withPatch(current, parse(t, tc.old), paths)); diff != "" {
				t.Errorf("%s\nobject -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, object), current); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func TestRevisionName(t *testing.T) {
	long := strings.Repeat("x", 250)
	cases := map[string]struct{ reason, group, plural, scripts, want string }{
		"Group":   {"The prefix is the resource.", "ctl.example", "sets", "", "sets.ctl.example-"},
		"Core":    {"The core group has a name for this.", "", "pods", "", "pods.core-"},
		"Long":    {"It is cut so that the hash fits.", long, "sets", "", ("sets." + long)[:212] + "-"},
		"Scripts": {"The hash covers the scripts, and metacontroller has no such name.", "ctl.example", "sets", "5c", "sets.ctl.example-"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &Variant{label: "one", config: Config{Parent: discovery.Resource{GroupVersionResource: schema.GroupVersionResource{Group: tc.group, Resource: tc.plural}}}}
			got, err := v.revisionNames(&unstructured.Unstructured{Object: parse(t, `{metadata: {uid: u1}}`)}, parse(t, `{spec: {b: 1, a: "<"}}`), tc.scripts)
			if err != nil {
				t.Fatal(err)
			}
			text := `u1{"spec":{"a":"\u003c","b":1}}`
			want := revisionNames{
				own:    fmt.Sprintf("%s%x", tc.want, sha1.Sum([]byte(text+"one"))),
				legacy: fmt.Sprintf("%s%x", tc.want, sha1.Sum([]byte(text))),
			}
			if tc.scripts != "" {
				want = revisionNames{own: fmt.Sprintf("%s%x", tc.want, sha1.Sum([]byte(text+"one@"+tc.scripts)))}
			}
			if got != want || len(got.own) > 253 {
				t.Errorf("%s\nnames %q, want %q", tc.reason, got, want)
			}
		})
	}
}

func TestRevisionLabels(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		generate     bool
		want         map[string]string
	}{
		"Generated":   {"A generated selector's label is set.", `{}`, true, map[string]string{"controller-uid": "u1"}},
		"MatchLabels": {"The selector's own labels are set, whatever the template has.", `{selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: other, x: y}}}}`, false, map[string]string{"app": "web"}},
		"Template":    {"Where there is a choice the template's label is taken.", `{selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}, template: {metadata: {labels: {app: b}}}}`, false, map[string]string{"app": "b"}},
		"TemplateNot": {"If it fits.", `{selector: {matchExpressions: [{key: app, operator: In, values: [b, a]}]}, template: {metadata: {labels: {app: c}}}}`, false, map[string]string{"app": "a"}},
		"Exists":      {"Any value will do.", `{selector: {matchExpressions: [{key: app, operator: Exists}]}}`, false, map[string]string{"app": ""}},
		"Negative":    {"What must not be there is not.", `{selector: {matchLabels: {app: web}, matchExpressions: [{key: old, operator: DoesNotExist}, {key: tier, operator: NotIn, values: [x]}]}}`, false, map[string]string{"app": "web"}},
		"Both":        {"All expressions on one label are met.", `{selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: app, operator: NotIn, values: [a]}]}}`, false, map[string]string{"app": "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web", "uid": "u1"}, "spec": parse(t, tc.spec)}}
			v := newVariant(v1alpha1.HookV2, tc.generate)
			v.config.Parent, v.config.RevisionNamespace, v.label = sets, "host", "one"
			got, err := v.newRevisionObject(p, &revision{name: "r", patch: map[string]any{}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tc.want[v1alpha1.RevisionGroupLabel], tc.want[v1alpha1.RevisionResourceLabel], tc.want[v1alpha1.CompositeLabel] = "test.example", "sets", "one"
			if diff := cmp.Diff(tc.want, got.GetLabels()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if claim, _ := v.Claim(p); !claim.Selector.Matches(labels.Set(got.GetLabels())) {
				t.Errorf("%s: the revision does not match the parent's selector", tc.reason)
			}
		})
	}
}

// TestRevisionOrder checks newestFirst.
func TestRevisionOrder(t *testing.T) {
	made := func(name, at, number string) *unstructured.Unstructured {
		stored := &unstructured.Unstructured{Object: parse(t, fmt.Sprintf(`{metadata: {name: %s, creationTimestamp: %q}, parentPatch: {}}`, name, at))}
		if number != "" {
			stored.SetAnnotations(map[string]string{numberAnnotation: number})
		}
		return stored
	}
	const early, late = "2026-03-01T00:00:00Z", "2026-03-01T00:00:01Z"
	cases := map[string]struct {
		reason string
		stored []*unstructured.Unstructured
		want   []string
	}{
		"Time":      {"The newest comes first.", []*unstructured.Unstructured{made("a", early, ""), made("b", late, "")}, []string{"b", "a"}},
		"Second":    {"Of one second, the one that was made last.", []*unstructured.Unstructured{made("a", early, "9"), made("b", early, "10")}, []string{"b", "a"}},
		"Unknown":   {"What metacontroller made is older.", []*unstructured.Unstructured{made("a", early, ""), made("b", early, "1")}, []string{"b", "a"}},
		"Names":     {"In the end the name decides, so that it is always the same.", []*unstructured.Unstructured{made("b", early, ""), made("a", early, "none")}, []string{"a", "b"}},
		"Absurd":    {"A number that nobody can have counted to does not count.", []*unstructured.Unstructured{made("a", early, "9223372036854775807"), made("b", early, "-4"), made("c", early, "1")}, []string{"c", "a", "b"}},
		"TimeLeads": {"Numbers decide nothing else.", []*unstructured.Unstructured{made("a", early, "2"), made("b", late, "1")}, []string{"b", "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range readRevisions(variant.Observed{Parent: &unstructured.Unstructured{}, Revisions: tc.stored}) {
				got = append(got, r.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNewRevision checks the whole object, for both scopes of parents.
func TestNewRevision(t *testing.T) {
	cases := map[string]struct {
		reason          string
		in              scope
		namespace, name string
	}{
		"Namespaced":      {"A revision is beside its parent, and names children without the namespace.", bothInNamespace, "prod", "a"},
		"Cluster":         {"That of a cluster-scoped parent is in the host's namespace, and names where children are.", childInOne, "host", "prod/a"},
		"ClusterUnplaced": {"Unless they are nowhere.", bothInNone, "host", "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, tc.in, "{method: RollingInPlace}", "a")
			d, err := e.desired(e.observed())
			if err != nil {
				t.Fatal(err)
			}
			hash := sha1.Sum([]byte(`u1{"spec":{"template":{"image":"v1"}}}sets`))
			want := []map[string]any{{
				"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
				"metadata": map[string]any{
					"name": fmt.Sprintf("sets.test.example-%x", hash), "namespace": tc.namespace,
					"labels": map[string]any{
						"controller-uid": "u1", "metacontroller.k8s.io/apiGroup": "test.example", "metacontroller.k8s.io/resource": "sets",
						"metacontroller.k8s.io/composite-controller": "sets",
					},
					"annotations": map[string]any{"metacontroller.k8s.io/revision": "1"},
				},
				"parentPatch": map[string]any{"spec": map[string]any{"template": map[string]any{"image": "v1"}}},
				"children":    []any{map[string]any{"apiGroup": "test.example", "kind": tc.in.resource().Kind.Kind, "names": []any{tc.name}}},
			}}
			if diff := cmp.Diff(want, contents(d.Revisions)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func contents(objects []*unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	for _, object := range objects {
		all = append(all, object.Object)
	}
	return all
}

// TestTakeOver checks that taking over a complete rollout of metacontroller costs no write.
func TestTakeOver(t *testing.T) {
	e := newEnv(t, bothInNamespace, "{method: RollingRecreate}", "a")
	e.reconcile(t)
	delete(e.revisions[0].Object["metadata"].(map[string]any), "annotations")
	unlabel(e.revisions[0])
	name := e.revisions[0].GetName()
	e.parent.Object["status"] = map[string]any{"seen": "v1", "observedGeneration": int64(1), "conditions": []any{map[string]any{
		"type": "Updated", "status": "True", "reason": "OnLatestRevision", "message": "latest ControllerRevision: " + name,
	}}}
	if n := e.reconcile(t); n != 0 {
		t.Errorf("%d writes, where metacontroller left nothing to do", n)
	}
}

// TestRevisionsAbsent checks the reconciles in which there is no rollout.
func TestRevisionsAbsent(t *testing.T) {
	deleted := func(e *env) {
		e.parent.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-03-01T00:00:00Z"
	}
	held := func(e *env) {
		deleted(e)
		e.parent.SetFinalizers([]string{"metacontroller.io/compositecontroller-sets"})
	}
	cases := map[string]struct {
		reason, method string
		edit           func(e *env)
		rolls          bool
	}{
		"Live":                 {"A rolling method creates revisions.", "RollingInPlace", func(*env) {}, true},
		"NotRolling":           {"Other methods have none.", "InPlace", func(*env) {}, false},
		"Deleted":              {"Children of a parent that is being deleted are not managed.", "RollingInPlace", deleted, false},
		"DeletedWithFinalizer": {"Unless it has the finalizer.", "RollingInPlace", held, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, bothInNamespace, "{method: "+tc.method+"}", "a")
			tc.edit(e)
			o := e.observed()
			calls, err := New(e.config).Calls(o)
			if err != nil {
				t.Fatal(err)
			}
			d, err := e.desired(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Revisions != nil; got != tc.rolls || (calls[0].Subject != "") != tc.rolls {
				t.Errorf("%s\nrolls %v, subject %q", tc.reason, got, calls[0].Subject)
			}
		})
	}
}

var _ variant.Variant = (*Variant)(nil)
