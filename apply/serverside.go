package apply

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Strategy is how what is desired is written to an object that exists.
type Strategy string

const (
	// Dynamic merges here, by what the annotation LastApplied remembers. The empty
	// strategy means the same.
	Dynamic Strategy = "DynamicApply"
	// ServerSideApply leaves merging to the API server, which keeps a record of who
	// asked for which field.
	ServerSideApply Strategy = "ServerSideApply"
)

// Managers are the names under which the API server keeps that record.
type Managers struct {
	// Own is under which this definition applies, and nobody else. ManagerName makes it.
	Own string
	// Former are under which the same objects may have been written before, by
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

// ServerSide says that a change is written by server-side apply.
type ServerSide struct {
	Manager string
	// Force takes fields that another manager has set to something else. Without it
	// the API server refuses such a change as a whole.
	Force bool
	// TakeOver names the managers whose fields become Manager's first. It is nil if
	// there is nothing to take over.
	TakeOver []string
	// expected is what the object is to become, for people.
	expected map[string]any
	// held stands for what of the configuration Manager held before.
	held uint64
}

// appliedPrefix begins the annotation that says what a manager applied last: a hash of
// its configuration. The rest of its name stands for the manager, as two of them may
// each apply a part of one object.
const appliedPrefix = "metacontroller.k8s.io/applied."

func appliedAnnotation(manager string) string { return appliedPrefix + hash32(manager) }

// mark writes what stands for a configuration.
func mark(fingerprint uint64) string { return strconv.FormatUint(fingerprint, 16) }

// applied gives the mark of what manager applied last, or "".
func applied(object map[string]any, manager string) string {
	text, _ := objectIn(objectIn(object, "metadata"), "annotations")[appliedAnnotation(manager)].(string)
	return text
}

// unmarked gives annotations without the marks of any manager, which are
// annotations itself if there are none.
func unmarked(annotations map[string]any) (out map[string]any, differs bool) {
	var marks []string
	for name := range annotations {
		if strings.HasPrefix(name, appliedPrefix) {
			marks = append(marks, name)
		}
	}
	return without(annotations, marks...)
}
