package decorator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// FuzzDesired reads any answer of a decorator's sync hook. A problem is an *engines.Error, an attachment has the
// definition's mark and is where the object may have it, and the answer stays as it was.
func FuzzDesired(f *testing.F) {
	for _, text := range []string{
		`{"attachments":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","annotations":{"a":null}}}],"labels":{"a":"b","c":null}}`,
		`{"attachments":[{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"}}]}`,
		`{"attachments":[],"annotations":{"a":1},"status":{}}`, `{"attachments":[],"labels":{"a":"b"},"annotations":{"metacontroller.k8s.io/decorator-controller":"x"}}`,
		`{"attachments":null,"finalized":true}`, `null`, `[]`,
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, cluster bool) {
		var body any
		if json.Unmarshal(text, &body) != nil {
			t.Skip("no JSON")
		}
		before := runtime.DeepCopyJSONValue(body)
		target := object(t, namespacedTarget)
		if cluster {
			target = object(t, clusterTarget)
		}
		v := newVariant(t, `{sync: {}}`, services, roles)
		desired, err := v.Desired(variant.Observed{Parent: target}, []variant.Answer{{Call: variant.Call{Hook: "sync"}, Body: body}})
		var e *engines.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != engines.BadResponse) {
			t.Errorf("%v of type %T", err, err)
		}
		for _, attachment := range desired.Children {
			kind, namespace := attachment.GroupVersionKind(), attachment.GetNamespace()
			inPlace := kind == roles.Kind && namespace == "" || kind == services.Kind && namespace != ""
			if of := target.GetNamespace(); !inPlace || of != "" && namespace != of || attachment.GetAnnotations()[v1alpha1.DecoratorAnnotation] != "svc" {
				t.Errorf("%v is attached to an object in %q", attachment, of)
			}
		}
		if diff := cmp.Diff(before, body); diff != "" {
			t.Errorf("the answer was changed (-before +after):\n%s", diff)
		}
	})
}
