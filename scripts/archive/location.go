// Package archive keeps the script files of definitions in ControllerRevisions of the
// group apps, so that the last ones that loaded outlive the host's process.
//
// What is read back is believed only if it belongs to the very definition, by owner
// and label. That its files are those that served is the reader's to check: the name
// ends in the hash that they must have.
package archive

import (
	"crypto/sha256"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	// OwnerLabel holds the UID of the definition whose files a ControllerRevision has.
	OwnerLabel = "metacontroller.k8s.io/scripts-of"
	// Limit is how many ControllerRevisions of one definition are kept.
	Limit = 10
)

// Location is where the files of one definition are kept.
type Location struct {
	// Namespace holds the ControllerRevisions.
	Namespace string
	// Owner is the definition. They go when it goes, by the garbage collector.
	Owner metav1.OwnerReference
}

// maxNameLength is what the API server allows.
const maxNameLength = 253

// Name returns that of the ControllerRevision for the revision of that ID.
func (p Location) Name(id string) string {
	kind := strings.TrimSuffix(strings.ToLower(p.Owner.Kind), "controller")
	stem := kind + "-" + p.Owner.Name
	if most := maxNameLength - len(id) - 1; len(stem) > most {
		hash := fmt.Sprintf("-%.8x", sha256.Sum256([]byte(stem)))
		stem = stem[:most-len(hash)] + hash
	}
	return stem + "-" + id
}

func (p Location) labels() labels.Set { return labels.Set{OwnerLabel: string(p.Owner.UID)} }

// owns reports whether an object was made for this definition, not for an earlier one
// of its name, and not another object with that name.
func (p Location) owns(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.UID == p.Owner.UID && p.labels().AsSelector().Matches(labels.Set(object.GetLabels()))
}
