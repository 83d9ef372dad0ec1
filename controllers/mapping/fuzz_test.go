package mapping

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// FuzzDesired reads any answers of a map hook to two inputs. A problem is an *engines.Error about one input
// and leaves the other's outputs alone, and the answers stay as they were.
func FuzzDesired(f *testing.F) {
	for _, text := range []string{
		`{"outputs":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}],"resyncAfterSeconds":2}`,
		`{"outputs":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"metacontroller.k8s.io/map-key":"x"}}}]}`,
		`{"outputs":[{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"}}]}`,
		`{"outputs":null}`, `{"outputs":{}}`, `null`, `[]`,
	} {
		f.Add([]byte(text), []byte(pod("b")))
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		var bodies [2]any
		if json.Unmarshal(one, &bodies[0]) != nil || json.Unmarshal(other, &bodies[1]) != nil {
			t.Skip("no JSON")
		}
		before := runtime.DeepCopyJSONValue([]any{bodies[0], bodies[1]})
		v := newVariant(t, `{map: {}}`, pods, roles)
		kept := output(v, "Pod prod/kept of "+string(keyOf(named("ConfigMap prod/a"))))
		observed := variant.Observed{
			Parent: object(t, namespacedParent), Children: []*unstructured.Unstructured{kept},
			Inputs: []*unstructured.Unstructured{named("ConfigMap prod/a"), named("ConfigMap prod/b")},
		}
		calls, err := v.Calls(observed)
		if err != nil || len(calls) != 2 {
			t.Fatalf("%d calls, error %v", len(calls), err)
		}
		desired, err := v.Desired(observed, []variant.Answer{{Call: calls[0], Body: bodies[0]}, {Call: calls[1], Body: bodies[1]}})
		for _, problem := range append(desired.Problems, err) {
			var e *engines.Error
			if problem != nil && (!errors.As(problem, &e) || e.Kind != engines.BadResponse) {
				t.Errorf("%v of type %T", problem, problem)
			}
		}
		for _, child := range desired.Children {
			if child.GetNamespace() != "prod" || child.GroupVersionKind() != pods.Kind {
				t.Errorf("%v is an output of a parent in prod", child)
			}
		}
		if _, isObject := bodies[0].(map[string]any); !isObject && !desired.Keep[apply.KeyOf(kept)] {
			t.Errorf("the outputs of an input without an answer are not kept: %v", desired)
		}
		if diff := cmp.Diff(before, any([]any{bodies[0], bodies[1]})); diff != "" {
			t.Errorf("the answers were changed (-before +after):\n%s", diff)
		}
	})
}
