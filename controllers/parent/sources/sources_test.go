package sources

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// TestManages checks which objects of a resource are parents: those that are selected, and those that are to be finalized still.
func TestManages(t *testing.T) {
	const finalizer = "example.com/f"
	selected := func(o *unstructured.Unstructured) bool { return o.GetName() == "selected" }
	for name, c := range map[string]struct {
		finalizer string
		object    string
		has       []string
		want      bool
	}{
		"selected":                         {finalizer, "selected", nil, true},
		"neither":                          {finalizer, "other", nil, false},
		"to be finalized":                  {finalizer, "other", []string{"example.com/x", finalizer}, true},
		"a finalizer of others":            {finalizer, "other", []string{"example.com/x"}, false},
		"a definition without a finalizer": {"", "other", []string{""}, false},
	} {
		object := parenttest.Object(c.object)
		object.SetFinalizers(c.has)
		source := Parent{ParentRule: variant.ParentRule{Selects: selected}, Finalizer: c.finalizer}
		if got := source.Manages(object); got != c.want {
			t.Errorf("%s: the object is a parent: %t, want %t", name, got, c.want)
		}
	}
}

// TestKinds checks that parents are found in any version of their kind, and children by the declared one.
func TestKinds(t *testing.T) {
	gadgets := parenttest.Gadgets
	s := Sources{Parents: []Parent{{ParentRule: variant.ParentRule{Resource: gadgets}}}, Children: []Child{{ChildRule: variant.ChildRule{Resource: gadgets}}}}
	if s.ParentsOf(gadgets.Kind.GroupKind()) != &s.Parents[0] || s.ChildrenOf(gadgets.Kind) != &s.Children[0] {
		t.Error("a declared kind is not found")
	}
	other := gadgets.Kind
	if other.Version = "v2"; s.ChildrenOf(other) != nil {
		t.Error("children of another version are taken for declared ones")
	}
	if other.Kind = "Other"; s.ParentsOf(other.GroupKind()) != nil {
		t.Error("parents of another kind are taken for declared ones")
	}
}
