package composite

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// TestHookVersions checks that hooks have independent versions: sync has v2 and
// finalize v1.
func TestHookVersions(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizing bool
		hook       string
		children   []string
		related    []string
		answer     string
		err        string
	}{
		"Sync": {
			reason: "Version 2 has uniform keys and is strict.", hook: "sync",
			children: []string{"prod/a"}, related: []string{"other/y", "prod/x"},
			answer: `{children: [], more: 1}`, err: "HookResponseInvalid: sync hook: more: is no field of this hook's response, which has status, children, waiting, events, resyncAfterSeconds, finalized",
		},
		"Finalize": {
			reason: "Version 1 has relative keys, sees its own namespace, and is loose.", finalizing: true, hook: "finalize",
			children: []string{"a"}, related: []string{"x"},
			answer: `{children: [], finalized: true, more: 1}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, bothInNamespace, "{method: InPlace}", "a")
			e.addChild(t, bothInNamespace, "a=v1")
			o := e.observed()
			o.Finalizing = tc.finalizing
			config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
			o.RelatedKinds = []schema.GroupVersionKind{config}
			o.Related = []*unstructured.Unstructured{configMap("prod", "x"), configMap("other", "y")}
			v := New(e.config)
			calls, err := v.Calls(o)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{len(calls), calls[0].Hook, calls[0].Request["finalizing"], keysIn(calls[0], "children", "Item.test.example/v1"), keysIn(calls[0], "related", "ConfigMap.v1")}
			if diff := cmp.Diff([]any{1, tc.hook, tc.finalizing, tc.children, tc.related}, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			d, err := v.Desired(o, []variant.Answer{{Call: calls[0], Body: parse(t, tc.answer)}})
			if text := errorText(err); text != tc.err {
				t.Errorf("%s\nerror %q, want %q", tc.reason, text, tc.err)
			}
			if err == nil && !d.Finalized {
				t.Errorf("%s: finalized is lost", tc.reason)
			}
		})
	}
}

func configMap(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func keysIn(call variant.Call, field, group string) []string {
	groups, _ := call.Request[field].(map[string]any)
	objects, _ := groups[group].(map[string]any)
	return slices.Sorted(maps.Keys(objects))
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestCallsOfRevisions checks the calls in the middle of a rollout.
func TestCallsOfRevisions(t *testing.T) {
	e := newEnv(t, bothInNamespace, "{method: RollingInPlace}", "a", "b", "c")
	for _, line := range []string{"v0:", "v1: c", "v2: b", "v3: a"} {
		e.storeRevision(t, bothInNamespace, line, 0)
	}
	calls, err := New(e.config).Calls(e.observed())
	if err != nil {
		t.Fatal(err)
	}
	var images []any
	for _, call := range calls {
		images = append(images, imageOf(call))
		if names := valueAt(call.Request["parent"].(map[string]any), []string{"spec", "names"}); len(names.([]any)) != 3 {
			t.Errorf("what is not at fieldPaths is not the parent's: %v", names)
		}
	}
	if len(images) != 3 || images[0] != "v3" {
		t.Errorf("asked about %v, want v3 first, then v1 and v2, and not v0, which no child is of", images)
	}
}

// TestFinalizedByAll has two live revisions of which one is not done.
func TestFinalizedByAll(t *testing.T) {
	cases := map[string]struct {
		reason   string
		old, new bool
		want     bool
	}{
		"Both":   {"All have to be done.", true, true, true},
		"Latest": {"The latest alone is not enough.", false, true, false},
		"Old":    {"Nor is an old one.", true, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, bothInNamespace, "{method: RollingInPlace}", "a", "b")
			e.storeRevision(t, bothInNamespace, "v1: b", 0)
			e.setImage("v2")
			answering(func(body map[string]any, call variant.Call) {
				body["finalized"] = map[any]bool{"v1": tc.old, "v2": tc.new}[imageOf(call)]
			})(e)
			d, err := e.desired(e.observed())
			if err != nil {
				t.Fatal(err)
			}
			if d.Finalized != tc.want {
				t.Errorf("%s: finalized is %v", tc.reason, d.Finalized)
			}
		})
	}
}
