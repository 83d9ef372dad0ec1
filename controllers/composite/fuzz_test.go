package composite

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// FuzzDesired reads any answer of a sync hook. A problem is an *engines.Error, a child is of a declared kind
// and where the parent may have it, and the answer stays as it was.
func FuzzDesired(f *testing.F) {
	for _, text := range []string{
		`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}}}],"status":{"a":[1,null]},"resyncAfterSeconds":2}`,
		`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"other","labels":{"app":"web"}}}]}`,
		`{"children":[{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a","labels":{"app":"web"}}}]}`,
		`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","ownerReferences":[{"controller":true,"uid":"other"}]}}]}`,
		`{"children":[],"finalized":true,"status":null}`, `{"children":null}`, `null`, `[]`,
	} {
		f.Add([]byte(text), byte(0))
		f.Add([]byte(text), byte(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, flags byte) {
		var body any
		if json.Unmarshal(text, &body) != nil {
			t.Skip("no JSON")
		}
		before := runtime.DeepCopyJSONValue(body)
		parent := &unstructured.Unstructured{Object: parse(t, namespacedParent)}
		if flags&1 != 0 {
			parent = &unstructured.Unstructured{Object: parse(t, clusterParent)}
		}
		v := newVariant(v1alpha1.HookV2, flags&2 != 0)
		answer := variant.Answer{Call: variant.Call{Hook: "sync"}, Body: body}
		desired, err := v.Desired(variant.Observed{Parent: parent}, []variant.Answer{answer})
		var e *engines.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != engines.BadResponse) {
			t.Errorf("%v of type %T", err, err)
		}
		for _, child := range desired.Children {
			kind, namespace := child.GroupVersionKind(), child.GetNamespace()
			inPlace := kind == role.Kind && namespace == "" || kind == pods.Kind && namespace != ""
			if of := parent.GetNamespace(); !inPlace || of != "" && namespace != of {
				t.Errorf("%s %s in namespace %q is a child of a parent in %q", kind, child.GetName(), namespace, of)
			}
		}
		if diff := cmp.Diff(before, body); diff != "" {
			t.Errorf("the answer was changed (-before +after):\n%s", diff)
		}
	})
}

// FuzzClaim reads any selector of a parent. One that is taken selects something, and never everything.
func FuzzClaim(f *testing.F) {
	for _, text := range []string{
		`{"matchLabels":{"app":"web"}}`, `{"matchExpressions":[{"key":"a","operator":"In","values":["x"]}]}`, `{}`, `{"matchLabels":{"":""}}`,
		`{"matchExpressions":[{"key":"a","operator":"Near"}]}`, `null`, `[]`, `{"matchLabels":{"a":null}}`, `{"matchLabels":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var selector any
		if json.Unmarshal(text, &selector) != nil {
			t.Skip("no JSON")
		}
		parent := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": selector}}}
		claim, err := newVariant(v1alpha1.HookV2, false).Claim(parent)
		if err == nil && (claim.Selector == nil || claim.Selector.Empty()) {
			t.Errorf("the selector %s takes everything for a child", text)
		}
	})
}
