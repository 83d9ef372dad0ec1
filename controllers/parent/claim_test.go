package parent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// object makes an object of kind Pod in namespace default.
func object(name string, with ...func(map[string]any)) *unstructured.Unstructured {
	metadata := map[string]any{"name": name, "namespace": "default", "uid": name + "-uid", "resourceVersion": "1"}
	for _, f := range with {
		f(metadata)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}
}

func labelled(value string) func(map[string]any) {
	return func(m map[string]any) { m["labels"] = map[string]any{"app": value} }
}

func ownedBy(uid string) func(map[string]any) {
	return func(m map[string]any) {
		m["ownerReferences"] = []any{map[string]any{
			"apiVersion": "v1", "kind": "Parent", "name": "p", "uid": uid, "controller": true,
		}}
	}
}

func deleting(m map[string]any) { m["deletionTimestamp"] = "2026-01-02T03:04:05Z" }

func names(objects []*unstructured.Unstructured) []string {
	var result []string
	for _, o := range objects {
		result = append(result, o.GetName())
	}
	return result
}

func TestClaimChildren(t *testing.T) {
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
			parent: object("p"), claim: web, candidate: object("c", labelled("web"), ownedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"OwnedNotMatching": {
			reason: "An owned object that no longer matches is released.",
			parent: object("p"), claim: web, candidate: object("c", labelled("db"), ownedBy("p-uid")),
			want: outcome{Release: []string{"c"}},
		},
		"OwnedNotMatchingWhileDeleting": {
			reason: "A parent that is being deleted releases nothing.",
			parent: object("p", deleting), claim: web, candidate: object("c", labelled("db"), ownedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"OrphanMatching": {
			reason: "An orphan that matches is adopted.",
			parent: object("p"), claim: web, candidate: object("c", labelled("web")),
			want: outcome{Adopt: []string{"c"}},
		},
		"OrphanNotMatching": {
			reason: "An orphan that does not match is ignored.",
			parent: object("p"), claim: web, candidate: object("c", labelled("db")),
		},
		"OrphanDeleting": {
			reason: "An object that is being deleted is not adopted.",
			parent: object("p"), claim: web, candidate: object("c", labelled("web"), deleting),
		},
		"OrphanOfDeletingParent": {
			reason: "A parent that is being deleted adopts nothing.",
			parent: object("p", deleting), claim: web, candidate: object("c", labelled("web")),
		},
		"OtherOwner": {
			reason: "An object with another owner is ignored, even if it matches.",
			parent: object("p"), claim: web, candidate: object("c", labelled("web"), ownedBy("other")),
		},
		"Itself": {
			reason: "A parent is never its own child, even if it matches its own selector.",
			parent: object("p"), claim: web, candidate: object("p", labelled("web")),
		},
		"NoSelectorOwned": {
			reason: "Without a selector any owned object is a child.",
			parent: object("p"), candidate: object("c", ownedBy("p-uid")),
			want: outcome{Owned: []string{"c"}},
		},
		"NoSelectorOrphan": {
			reason: "Without a selector nothing is adopted.",
			parent: object("p"), candidate: object("c", labelled("web")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := claimChildren(tc.parent, tc.claim, []*unstructured.Unstructured{tc.candidate})
			got := outcome{names(c.owned), names(c.adopt), names(c.release)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
