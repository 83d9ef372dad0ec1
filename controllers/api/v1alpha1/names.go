package v1alpha1

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Names that Libretto writes onto other people's objects. All but those of the
// map and CompositeLabel are metacontroller's (section 0 of the specification), so
// that what it left in a cluster is found again.
const (
	// ControllerUIDLabel ties children to their parent where the selector is
	// generated. Its value is the parent's UID.
	ControllerUIDLabel = "controller-uid"
	// RevisionGroupLabel holds the parent's API group on a ControllerRevision, empty for the core group.
	RevisionGroupLabel = GroupName + "/apiGroup"
	// RevisionResourceLabel holds the parent's plural on a ControllerRevision.
	RevisionResourceLabel = GroupName + "/resource"
	// CompositeLabel holds the name of its CompositeController on a ControllerRevision,
	// so that several of them can roll out children of one parent. Those of
	// metacontroller and of earlier versions are without it.
	CompositeLabel = GroupName + "/composite-controller"
	// DecoratorAnnotation marks an attachment with the name of its DecoratorController.
	DecoratorAnnotation = GroupName + "/decorator-controller"
	// MapAnnotation marks an output with the name of its MapController.
	MapAnnotation = GroupName + "/map-controller"
	// MapKey is on every output of a MapController: the label holds a hash of
	// the input's identity, the annotation <group>/<Kind>/<namespace>/<name>.
	MapKey = GroupName + "/map-key"
)

// The parts of finalizers before the definition's name (section 0 of the specification).
const (
	compositeFinalizerPrefix = "metacontroller.io/compositecontroller-"
	decoratorFinalizerPrefix = "metacontroller.io/decoratorcontroller-"
	mapFinalizerPrefix       = "metacontroller.io/mapcontroller-"
)

// Finalizer is what the definition puts on its parents when it has a finalize hook.
func (c *CompositeController) Finalizer() string { return finalizer(compositeFinalizerPrefix, c.Name) }

// Finalizer is what the definition puts on its target objects when it has a finalize hook.
func (d *DecoratorController) Finalizer() string { return finalizer(decoratorFinalizerPrefix, d.Name) }

// Finalizer is what the definition puts on its parents when it has a finalize hook.
func (m *MapController) Finalizer() string { return finalizer(mapFinalizerPrefix, m.Name) }

// FinalizerKind gives the kind of the definitions whose finalizers look like this one, or "".
func FinalizerKind(finalizer string) string {
	for prefix, kind := range map[string]string{
		compositeFinalizerPrefix: CompositeControllerKind,
		decoratorFinalizerPrefix: DecoratorControllerKind,
		mapFinalizerPrefix:       MapControllerKind,
	} {
		if strings.HasPrefix(finalizer, prefix) {
			return kind
		}
	}
	return ""
}

// FinalizerOf gives the finalizer of a definition of that kind and name, or "" for any other kind.
func FinalizerOf(kind, name string) string {
	switch kind {
	case CompositeControllerKind:
		return finalizer(compositeFinalizerPrefix, name)
	case DecoratorControllerKind:
		return finalizer(decoratorFinalizerPrefix, name)
	case MapControllerKind:
		return finalizer(mapFinalizerPrefix, name)
	}
	return ""
}

// longestName is how many characters a label's value may have, and those of a
// finalizer behind its slash.
const longestName = 63

// RevisionLabelValue is what CompositeLabel holds for a CompositeController.
func (c *CompositeController) RevisionLabelValue() string { return shortened(c.Name, longestName) }

// finalizer is prefix and name, where the API server takes it; metacontroller could
// not put the finalizer of a long name on anything.
func finalizer(prefix, name string) string {
	return prefix + shortened(name, longestName-len(prefix)+strings.Index(prefix, "/")+1)
}

// shortened returns name with its end replaced by a hash if it is longer than most.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	hash := fmt.Sprintf("-%.8x", sha256.Sum256([]byte(name)))
	return name[:most-len(hash)] + hash
}
