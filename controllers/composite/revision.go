package composite

import (
	"cmp"
	"crypto/sha1" // Only for names, which are the same as metacontroller's.
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/libretto-k8s/libretto/controllers/variant"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// maxRevisionPrefix leaves room for a dash and a hash in a name of 253 characters.
const maxRevisionPrefix = 212

// revision is a state of a parent that some children may follow.
type revision struct {
	name  string
	patch map[string]any
	// stored is the ControllerRevision as it was observed, or nil if it is new.
	stored *unstructured.Unstructured
	// childIDs are the children that stored lists.
	childIDs []childID
	// number is the sequence number of the revision. It is 0 for those of metacontroller.
	number int
}

// numberAnnotation orders ControllerRevisions that were created in the same second, the
// precision of creation times.
const numberAnnotation = v1alpha1.GroupName + "/revision"

func numberOf(stored *unstructured.Unstructured) int {
	n, err := strconv.Atoi(stored.GetAnnotations()[numberAnnotation])
	if err != nil {
		return 0 // The number only affects the order.
	}
	return n
}

// created returns the time of creation in seconds. A revision that is not stored yet is the newest.
func (r *revision) created() int64 {
	if r.stored == nil {
		return 1<<63 - 1
	}
	return r.stored.GetCreationTimestamp().Unix()
}

// newestFirst compares revisions by age, and by name if they have the same age.
func newestFirst(a, b *revision) int {
	return cmp.Or(cmp.Compare(b.created(), a.created()), cmp.Compare(b.number, a.number), cmp.Compare(a.name, b.name))
}

func readRevisions(observed variant.Observed) ([]*revision, error) {
	var revisions []*revision
	for _, stored := range observed.Revisions {
		patch, ok := stored.Object["parentPatch"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("ControllerRevision %s: parentPatch is no object: "+
				"delete the ControllerRevision, and its children stay as they are until it is their turn", stored.GetName())
		}
		ids := childIDsOf(stored, observed.Parent.GetNamespace())
		revisions = append(revisions, &revision{name: stored.GetName(), patch: patch, stored: stored, childIDs: ids, number: numberOf(stored)})
	}
	slices.SortFunc(revisions, newestFirst)
	return revisions, nil
}

// newRevision returns a revision with the next number.
func (v *Variant) newRevision(p *unstructured.Unstructured, patch map[string]any, others []*revision) (*revision, error) {
	name, err := v.revisionName(p, patch)
	number := 0
	for _, r := range others {
		number = max(number, r.number)
	}
	return &revision{name: name, patch: patch, number: number + 1}, err
}

// revisionName returns the name of section 0 of the specification, except that the hash covers
// the label of the definition: two definitions have separate revisions of the same state.
func (v *Variant) revisionName(p *unstructured.Unstructured, patch map[string]any) (string, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return "", fmt.Errorf("the parent's %v: %w", v.config.Spec.RevisionFields(), err)
	}
	prefix := v.config.Parent.GroupVersionResource.Resource + "." + cmp.Or(v.config.Parent.Group, "core")
	hash := sha1.Sum(slices.Concat([]byte(p.GetUID()), text, []byte(v.label)))
	return fmt.Sprintf("%s-%x", prefix[:min(len(prefix), maxRevisionPrefix)], hash), nil
}
