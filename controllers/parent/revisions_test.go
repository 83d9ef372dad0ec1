package parent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
)

func revision(name string, children ...any) *unstructured.Unstructured {
	r := object(name)
	r.Object["children"] = children
	return r
}

func TestRevisionChanges(t *testing.T) {
	same := revision("same")
	cases := map[string]struct {
		reason            string
		observed, desired []*unstructured.Unstructured
		want              []string
	}{
		"Nothing": {
			"The observed object itself is no change.", []*unstructured.Unstructured{same}, []*unstructured.Unstructured{same}, nil,
		},
		"Equal": {
			"Nor is an equal one.", []*unstructured.Unstructured{revision("a", "x")}, []*unstructured.Unstructured{revision("a", "x")},
			nil,
		},
		"New": {
			"A new revision is created with its owner.", nil, []*unstructured.Unstructured{revision("a")}, []string{"Create a owned"},
		},
		"Progress": {
			"A changed revision is updated.", []*unstructured.Unstructured{revision("a", "x")},
			[]*unstructured.Unstructured{revision("a", "y")}, []string{"Update a"},
		},
		"Superfluous": {
			"A revision that is not desired is deleted after the other writes.", []*unstructured.Unstructured{revision("old"), same},
			[]*unstructured.Unstructured{same, revision("new")}, []string{"Create new owned", "Delete old"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes := revisionChanges(tc.observed, tc.desired, metav1.OwnerReference{UID: "p"}, schema.GroupVersionResource{})
			var got []string
			for _, c := range changes {
				text := string(c.Action) + " " + c.Key.Name
				if c.Action == apply.ActionCreate && len(c.Object.GetOwnerReferences()) == 1 {
					text += " owned"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
