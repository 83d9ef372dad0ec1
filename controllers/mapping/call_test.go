package mapping

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// observation is what is observed, in short: inputs as "Pod prod/a", outputs as
// "Pod prod/a of /ConfigMap/prod/x".
type observation struct {
	Parent          string
	Inputs, Outputs []string
	Related         []string
	Finalizing      bool
}

func (s observation) observed(t testing.TB, v *Variant) variant.Observed {
	t.Helper()
	observed := variant.Observed{Parent: object(t, s.Parent), Finalizing: s.Finalizing}
	for _, text := range s.Inputs {
		observed.Inputs = append(observed.Inputs, named(text))
	}
	for _, text := range s.Outputs {
		observed.Children = append(observed.Children, output(v, text))
	}
	for _, text := range s.Related {
		observed.Related = append(observed.Related, named(text))
		observed.RelatedKinds = []schema.GroupVersionKind{nodes.Kind}
	}
	return observed
}

const deletingParent = `{apiVersion: example.com/v1, kind: Bucket, metadata: {name: b, namespace: prod, uid: u1, generation: 4, resourceVersion: "9", deletionTimestamp: "2024-01-01T00:00:00Z"}}`

func TestCalls(t *testing.T) {
	cases := map[string]struct {
		reason, hooks string
		observation   observation
		want          []string
	}{
		"None":            {"Without inputs there is nothing to ask.", allHooks, observation{Parent: namespacedParent}, nil},
		"EachInput":       {"Each input is a question of its own, in their order.", allHooks, observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/b", "ConfigMap prod/a"}}, []string{"map /ConfigMap/prod/b", "map /ConfigMap/prod/a"}},
		"OutputsOfEach":   {"Its call has only its own outputs.", allHooks, observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a", "ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/b", "Pod prod/z of /ConfigMap/prod/a"}}, []string{"map /ConfigMap/prod/a prod/x prod/z", "map /ConfigMap/prod/b prod/y"}},
		"SameNames":       {"Inputs of two kinds are kept apart.", allHooks, observation{Parent: clusterParent, Inputs: []string{"ConfigMap prod/a", "Node a"}, Outputs: []string{"Pod prod/x of /Node//a"}}, []string{"map /ConfigMap/prod/a", "map /Node//a prod/x"}},
		"Gone":            {"The tombstone hook is called for an input that is gone, after the others.", allHooks, observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/b"}}, []string{"map /ConfigMap/prod/b prod/y", "tombstone /ConfigMap/prod/a prod/x"}},
		"GoneTwo":         {"Each of them by itself, in the order of their outputs.", allHooks, observation{Parent: namespacedParent, Outputs: []string{"Pod prod/x of /ConfigMap/prod/b", "Pod prod/y of /ConfigMap/prod/a", "Pod prod/z of /ConfigMap/prod/b"}}, []string{"tombstone /ConfigMap/prod/b prod/x prod/z", "tombstone /ConfigMap/prod/a prod/y"}},
		"GoneWithoutHook": {"Without a tombstone hook no hook is called.", `{map: {}}`, observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a"}}, []string{"map /ConfigMap/prod/b"}},
		"Finalizing":      {"There is one call for a parent that is being finalized, with all its outputs.", allHooks, observation{Parent: deletingParent, Finalizing: true, Inputs: []string{"ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/b"}}, []string{"finalize  prod/x prod/y"}},
		"OptOut":          {"So is one that is no longer selected.", allHooks, observation{Parent: namespacedParent, Finalizing: true, Inputs: []string{"ConfigMap prod/b"}}, []string{"finalize "}},
		"Deleting":        {"Without a finalize hook a parent that is being deleted needs no questions.", `{map: {}, tombstone: {}}`, observation{Parent: deletingParent, Inputs: []string{"ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a"}}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, tc.hooks, pods)
			observed := tc.observation.observed(t, v)
			before := tc.observation.observed(t, v)
			calls, err := v.Calls(observed)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, call := range calls {
				if want := (engines.Origin{ID: call.Subject, Namespace: mapKey(call.Subject).namespace()}); call.Origin != want {
					t.Errorf("the call for %s is about %v", call.Subject, call.Origin)
				}
				text := call.Hook + " " + call.Subject
				outputs := call.Request["outputs"].(map[string]any)["Pod.v1"].(map[string]any)
				for _, key := range slices.Sorted(maps.Keys(outputs)) {
					text += " " + key
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, observed); diff != "" {
				t.Errorf("what was observed was changed:\n%s", diff)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	v := newVariant(t, allHooks, pods, roles)
	observed := observation{
		Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a"}, Related: []string{"Node n1"},
		Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/gone"},
	}.observed(t, v)
	finalizing := observed
	finalizing.Finalizing = true
	groups := func(pods map[string]any) map[string]any {
		return map[string]any{"Pod.v1": pods, "ClusterRole.rbac.authorization.k8s.io/v1": map[string]any{}}
	}
	common := func(more map[string]any) map[string]any {
		request := map[string]any{
			"controller": parse(t, definition), "parent": observed.Parent.Object,
			"related": map[string]any{"Node.v1": map[string]any{"n1": observed.Related[0].Object}},
		}
		maps.Copy(request, more)
		return request
	}
	x, y := observed.Children[0].Object, observed.Children[1].Object
	cases := map[string]struct {
		reason   string
		observed variant.Observed
		want     []map[string]any
	}{
		"MapAndTombstone": {
			"A map hook sees its input, a tombstone hook has none to see; keys are those of version 2, and each declared kind has a group.", observed,
			[]map[string]any{
				common(map[string]any{"mapKey": "/ConfigMap/prod/a", "input": observed.Inputs[0].Object, "outputs": groups(map[string]any{"prod/x": x})}),
				common(map[string]any{"mapKey": "/ConfigMap/prod/gone", "outputs": groups(map[string]any{"prod/y": y})}),
			},
		},
		"Finalize": {
			"A finalize hook sees all outputs.", finalizing,
			[]map[string]any{common(map[string]any{"finalizing": true, "outputs": groups(map[string]any{"prod/x": x, "prod/y": y})})},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			calls, err := v.Calls(tc.observed)
			if err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			for _, call := range calls {
				got = append(got, call.Request)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKeyFromAnyOutput checks that one output that lost its annotation does
// not cost a group its readable key.
func TestKeyFromAnyOutput(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: namespacedParent, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/a"}}.observed(t, v)
	unstructured.RemoveNestedField(observed.Children[0].Object, "metadata", "annotations")
	calls, err := v.Calls(observed)
	if err != nil || len(calls) != 1 || calls[0].Subject != "/ConfigMap/prod/a" {
		t.Errorf("want one call about /ConfigMap/prod/a, got %v (%v)", calls, err)
	}
}
