package composite

import (
	"cmp"
	"crypto/sha1" // Only for names, which are the same as metacontroller's.
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// maxRevisionPrefix leaves room for a dash and a hash in a name of 253 characters.
const maxRevisionPrefix = 212

// revision is a state of a parent that some children may follow.
type revision struct {
	name  string
	patch map[string]any
	// scripts is the ID of the revision of the scripts that makes the children, or empty: then it is whichever serves.
	scripts string
	// stored is the ControllerRevision as it was observed, or nil if it is new.
	stored *unstructured.Unstructured
	// overwritten is true if stored is invalid, and is to get the content that its name stands for.
	overwritten bool
	// childIDs are the children that stored lists.
	childIDs []childID
	// number is the sequence number of the revision. It is 0 for those of metacontroller.
	number int
}

// numberAnnotation orders ControllerRevisions that were created in the same second, the
// precision of creation times.
const numberAnnotation = v1alpha1.GroupName + "/revision"

// maxNumber is the highest number that is used. A higher one was forged, and there may be none after it.
const maxNumber = 1 << 53

func numberOf(stored *unstructured.Unstructured) int {
	n, err := strconv.Atoi(stored.GetAnnotations()[numberAnnotation])
	if err != nil || n < 0 || n > maxNumber {
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

// readRevisions returns the stored revisions, newest first.
func readRevisions(observed variant.Observed) []*revision {
	var revisions []*revision
	for _, stored := range observed.Revisions {
		patch, _ := stored.Object["parentPatch"].(map[string]any)
		ids := childIDsOf(stored, observed.Parent.GetNamespace())
		revisions = append(revisions, &revision{
			name: stored.GetName(), patch: patch, scripts: stored.GetAnnotations()[v1alpha1.ScriptRevisionAnnotation],
			stored: stored, childIDs: ids, number: numberOf(stored),
		})
	}
	slices.SortFunc(revisions, newestFirst)
	return revisions
}

// newRevision returns a revision with the next number.
func newRevision(name string, patch map[string]any, scripts string, others []*revision) *revision {
	number := 0
	for _, r := range others {
		number = max(number, r.number)
	}
	return &revision{name: name, patch: patch, scripts: scripts, number: min(number+1, maxNumber)}
}

// revisionNames are the possible names of the ControllerRevision of one state of a parent.
type revisionNames struct {
	// own is the name that this program gives. Its hash covers the label of the definition: two
	// definitions have separate revisions of the same state. It covers the scripts too, if the revision has any.
	own string
	// legacy is the name that metacontroller gives (section 0 of the specification), or empty if the revision has scripts.
	legacy string
}

// has reports whether name is one of the names.
func (n revisionNames) has(name string) bool { return name == n.own || name == n.legacy }

// revisionNames returns the names of the ControllerRevision of a patch of p, and of the scripts unless they are empty.
func (v *Variant) revisionNames(p *unstructured.Unstructured, patch map[string]any, scripts string) (revisionNames, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return revisionNames{}, fmt.Errorf("the parent's %v: %w", v.config.Spec.RevisionFields(), err)
	}
	prefix := v.config.Parent.GroupVersionResource.Resource + "." + cmp.Or(v.config.Parent.Group, "core")
	prefix = prefix[:min(len(prefix), maxRevisionPrefix)]
	content := slices.Concat([]byte(p.GetUID()), text)
	nameOf := func(parts ...string) string {
		return fmt.Sprintf("%s-%x", prefix, sha1.Sum(append(slices.Clip(content), strings.Join(parts, "@")...)))
	}
	if scripts != "" {
		return revisionNames{own: nameOf(v.label, scripts)}, nil // No label has an at sign.
	}
	return revisionNames{own: nameOf(v.label), legacy: nameOf()}, nil
}
