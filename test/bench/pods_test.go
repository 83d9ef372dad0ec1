package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply/merge"
)

// podPair reads the pod that package apply measures with: as a hook desires it
// and as the API server keeps it, which is 3.4 KB of JSON.
func podPair(tb testing.TB) (observed, desired *unstructured.Unstructured) {
	tb.Helper()
	var objects [2]*unstructured.Unstructured
	for i, file := range []string{"observed", "desired"} {
		text, err := os.ReadFile("../../apply/merge/testdata/pod/" + file + ".yaml")
		if err != nil {
			tb.Fatal(err)
		}
		objects[i] = read(tb, string(text))
	}
	return objects[0], objects[1]
}

// family makes a parent and its children, as they are and as its hook desires
// them, between which there is no difference.
func family(tb testing.TB, children int) (parent *unstructured.Unstructured, observed []*unstructured.Unstructured, answer map[string]any) {
	tb.Helper()
	parent = web(tb, "default", "web")
	asIs, asDesired := podPair(tb)
	var desired []any
	for i := range children {
		name := fmt.Sprintf("web-%d", i)
		d, o := asDesired.DeepCopy(), asIs.DeepCopy()
		d.SetName(name)
		o.SetName(name)
		o.SetUID(types.UID(fmt.Sprintf("1d6d4f0e-6d0c-4f5c-8c7a-%012d", i)))
		o.SetResourceVersion(fmt.Sprint(184467 + i))
		o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, webs.Kind)})
		merged, err := merge.Merge(nil, o, d)
		if err != nil {
			tb.Fatal(err)
		}
		observed = append(observed, fromJSON(tb, merged.Object))
		desired = append(desired, fromJSON(tb, d).Object)
	}
	return parent, observed, map[string]any{"children": desired, "status": map[string]any{}}
}

// fromJSON returns an object as it comes over the network, with no text shared.
func fromJSON(tb testing.TB, object *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	data, err := json.Marshal(object.Object)
	if err != nil {
		tb.Fatal(err)
	}
	copied := &unstructured.Unstructured{}
	if err := copied.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return copied
}
