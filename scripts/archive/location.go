// Package archive stores the script files of definitions in ControllerRevisions of the
// group apps, so that the last ones that loaded outlive the host's process.
//
// It uses only objects that belong to the definition, by owner and label. These may be forged:
// callers of Load check that the files are those that served, and Keep compares the files of an
// object that exists already.
package archive

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	// OwnerLabel holds the UID of the definition whose files a ControllerRevision has.
	OwnerLabel = "metacontroller.k8s.io/scripts-of"
	// PartLabel is on the objects that have a part of the files of large revisions.
	PartLabel = "metacontroller.k8s.io/script-part"
)

// namespacedGroup is the API group of definitions with a namespace.
const namespacedGroup = "libretto.dev/"

// Location is where the files of one definition are archived.
type Location struct {
	// Namespace holds the ControllerRevisions.
	Namespace string
	// Owner is the definition. The garbage collector deletes them with it.
	Owner metav1.OwnerReference
}

// maxNameLength is what the API server allows.
const maxNameLength = 253

// shortLength is how many digits of an ID a name has. It is short enough to read; as others can
// find content with the same digits, nothing is compared by them alone.
const shortLength = 16

// ShortID returns the digits of an ID that are in a name.
func ShortID(id string) string { return id[:min(len(id), shortLength)] }

// isID matches an ID, in full or its first digits.
var isID = regexp.MustCompile(`^([0-9a-f]{16}|[0-9a-f]{64})$`)

// ParseID returns the ID that people write: all 64 digits or the first 16, in any case, with spaces around them. It returns "" for any
// other text.
func ParseID(text string) string {
	if id := strings.ToLower(strings.TrimSpace(text)); isID.MatchString(id) {
		return id
	}
	return ""
}

// Name returns that of the ControllerRevision for the revision of that ID.
func (p Location) Name(id string) string { return p.name(ShortID(id)) }

// partName returns the name of the ControllerRevision for a part of large revisions.
func (p Location) partName(sum string) string { return p.name("part-" + ShortID(sum)) }

func (p Location) name(id string) string {
	stem := strings.TrimSuffix(strings.ToLower(p.Owner.Kind), "controller") + "-" + p.Owner.Name
	if strings.HasPrefix(p.Owner.APIVersion, namespacedGroup) { // One of the other group may have the same kind and name.
		stem = "namespaced-" + stem
	}
	if most := maxNameLength - len(id) - 1; len(stem) > most {
		hash := fmt.Sprintf("-%.8x", sha256.Sum256([]byte(stem)))
		stem = stem[:most-len(hash)] + hash
	}
	return stem + "-" + id
}

func (p Location) labels() labels.Set { return labels.Set{OwnerLabel: string(p.Owner.UID)} }

// owns reports whether an object was made for this definition, not for an earlier one
// of its name, and not by another author.
func (p Location) owns(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.UID == p.Owner.UID && p.labels().AsSelector().Matches(labels.Set(object.GetLabels()))
}
