package variant

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

// FuzzReadResponse reads any answer as the response of a hook. A problem is an *engines.Error, objects have
// what identifies them, numbers are of use, and the answer stays as it was.
func FuzzReadResponse(f *testing.F) {
	for _, text := range []string{
		`{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}],"status":{"a":1},"resyncAfterSeconds":1.5,"finalized":true}`,
		`{"children":[{"apiVersion":"v1","kind":"A","metadata":{"name":"a","namespace":"b","labels":{"a":null},"annotations":{"a":null},"ownerReferences":[{}]}}]}`,
		`{"children":null,"status":null,"resyncAfterSeconds":-1,"finalized":0}`, `{"resyncAfterSeconds":1e300,"children":{}}`,
		`{"status":200,"body":{"children":[]}}`, `null`, `[]`, `"text"`, `{"childern":[]}`, `{"relatedResources":[{}, 1]}`,
	} {
		f.Add([]byte(text), byte(0))
		f.Add([]byte(text), byte(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, flags byte) {
		var body any
		if json.Unmarshal(text, &body) != nil {
			t.Skip("no JSON")
		}
		before := runtime.DeepCopyJSONValue(body)
		rules := ResponseRules{
			Fields:        []string{"status", "children", "resyncAfterSeconds", "finalized", "relatedResources"},
			RefuseUnknown: flags&1 != 0, AllowAbsentList: flags&2 != 0,
		}
		if flags&4 != 0 {
			rules.Unwrap = "unwrap it"
		}
		r := ReadResponse(Answer{Call: Call{Hook: "sync"}, Body: body}, rules)
		for _, object := range r.Objects("children") {
			if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
				t.Errorf("an object without apiVersion, kind or name: %v", object)
			}
			_, _, _ = object.GetLabels(), object.GetAnnotations(), object.GetOwnerReferences()
		}
		r.Maps("relatedResources")
		r.Map("status")
		r.Bool("finalized")
		if seconds := r.Seconds("resyncAfterSeconds"); math.IsNaN(seconds) || seconds < 0 || seconds > 200*365*24*3600 {
			t.Errorf("resync after %v s", seconds)
		}
		var e *engines.Error
		if err := r.Err(); err != nil && (!errors.As(err, &e) || e.Kind != engines.BadResponse || len(e.Message) > len(text)*8+1<<10) {
			t.Errorf("%v of type %T", err, err)
		}
		if diff := cmp.Diff(before, body); diff != "" {
			t.Errorf("the answer was changed (-before +after):\n%s", diff)
		}
	})
}
