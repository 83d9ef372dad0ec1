package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// orphanedBy sets the UID of the parent that has let go of an object.
func orphanedBy(uid string) func(map[string]any) {
	return func(m map[string]any) { m["annotations"] = map[string]any{apply.OrphanedBy: uid} }
}

func TestChildren(t *testing.T) {
	type outcome struct{ Owned, Adopt, Release []string }
	web := variant.Claim{Selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
	cases := map[string]struct {
		reason    string
		parent    *unstructured.Unstructured
		claim     variant.Claim
		candidate *unstructured.Unstructured
		want      outcome
	}{
		"OwnedAndMatching": {
			reason: "An owned object that matches is a child.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web"), parenttest.OwnedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"OwnedNotMatching": {
			reason: "An owned object that no longer matches is released.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("db"), parenttest.OwnedBy("p-uid")),
			want: outcome{Release: []string{"c"}},
		},
		"OwnedNotMatchingWhileDeleting": {
			reason: "A parent that is being deleted releases nothing.",
			parent: parenttest.Object("p", parenttest.Deleting), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("db"), parenttest.OwnedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"OrphanMatching": {
			reason: "An orphan that matches is adopted.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web")),
			want: outcome{Adopt: []string{"c"}},
		},
		"OrphanNotMatching": {
			reason: "An orphan that does not match is ignored.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("db")),
		},
		"OrphanThatWasLetGo": {
			reason: "What the parent has let go of is not adopted again, although it matches.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web"), orphanedBy("p-uid")),
		},
		"OrphanOfAnotherParent": {
			reason: "What another parent has let go of is adopted.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web"), orphanedBy("o-uid")),
			want: outcome{Adopt: []string{"c"}},
		},
		"OrphanDeleting": {
			reason: "An object that is being deleted is not adopted.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web"), parenttest.Deleting),
		},
		"OrphanOfDeletingParent": {
			reason: "A parent that is being deleted adopts nothing.",
			parent: parenttest.Object("p", parenttest.Deleting), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web")),
		},
		"OtherOwner": {
			reason: "An object with another owner is ignored, even if it matches.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("c", parenttest.Labelled("web"), parenttest.OwnedBy("other")),
		},
		"Itself": {
			reason: "A parent is never its own child, even if it matches its own selector.",
			parent: parenttest.Object("p"), claim: web, candidate: parenttest.Object("p", parenttest.Labelled("web")),
		},
		"NoSelectorOwned": {
			reason: "Without a selector any owned object is a child.",
			parent: parenttest.Object("p"), candidate: parenttest.Object("c", parenttest.OwnedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"NoSelectorOrphan": {
			reason: "Without a selector nothing is adopted.",
			parent: parenttest.Object("p"), candidate: parenttest.Object("c", parenttest.Labelled("web")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Children(tc.parent, tc.claim, []*unstructured.Unstructured{tc.candidate})
			got := outcome{parenttest.Names(c.Owned), parenttest.Names(c.Adopt), parenttest.Names(c.Release)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
