// Package serverside reads and writes the API server's record of which manager holds which fields
// of an object (managedFields), and makes what server-side apply sends.
package serverside

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Managers are the names under which the API server keeps that record.
type Managers struct {
	// Own is the name under which this definition alone applies. ManagerName makes it.
	Own string
	// Former are names under which the same objects may have been written before, by
	// this host or by another. What they hold is taken over.
	Former []string
}

// maxManager is how long the API server allows a manager's name to be.
const maxManager = 128

// ManagerName names the field manager of one definition: prefix/kind/name, of which
// what is too long is replaced by a hash. Definitions of different kinds may have one name.
func ManagerName(prefix, kind, name string) string {
	full := prefix + "/" + kind + "/" + name
	if len(full) <= maxManager {
		return full
	}
	mark := "-" + hash32(full)
	return full[:maxManager-len(mark)] + mark
}

func hash32(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}

// AppliedAnnotation returns the name of the annotation with the mark of what manager applied last.
func AppliedAnnotation(manager string) string { return merge.AppliedPrefix + hash32(manager) }

// markOf writes what stands for a configuration.
func markOf(fingerprint uint64) string { return strconv.FormatUint(fingerprint, 16) }

// Applied returns the mark of what manager applied last, or "".
func Applied(object map[string]any, manager string) string {
	text, _ := jsonvalue.ObjectIn(jsonvalue.ObjectIn(object, "metadata"), "annotations")[AppliedAnnotation(manager)].(string)
	return text
}

// AppliedBy reports whether manager has applied the object on the server's side, and
// whether other definitions have.
func AppliedBy(object *unstructured.Unstructured, manager string) (own, others bool) {
	for name := range jsonvalue.ObjectIn(jsonvalue.ObjectIn(object.Object, "metadata"), "annotations") {
		switch {
		case !strings.HasPrefix(name, merge.AppliedPrefix):
		case name == AppliedAnnotation(manager):
			own = true
		default:
			others = true
		}
	}
	return own, others
}
