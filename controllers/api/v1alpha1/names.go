package v1alpha1

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Names that Libretto writes onto other people's objects. All but those of the
// map are metacontroller's (section 0 of the specification), so that what it
// left in a cluster is found again.
const (
	// ControllerUIDLabel ties children to their parent where the selector is
	// generated. Its value is the parent's UID.
	ControllerUIDLabel = "controller-uid"
	// RevisionGroupLabel holds the parent's API group on a ControllerRevision, empty for the core group.
	RevisionGroupLabel = GroupName + "/apiGroup"
	// RevisionResourceLabel holds the parent's plural on a ControllerRevision.
	RevisionResourceLabel = GroupName + "/resource"
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

// longestName is how many characters of a finalizer may stand behind its slash.
const longestName = 63

// finalizer is prefix and name, where the API server takes it. A definition whose
// name is too long for that has the end of it replaced by a hash; metacontroller
// could not put its finalizer on anything.
func finalizer(prefix, name string) string {
	most := longestName - len(prefix) + strings.Index(prefix, "/") + 1
	if len(name) <= most {
		return prefix + name
	}
	hash := fmt.Sprintf("-%.8x", sha256.Sum256([]byte(name)))
	return prefix + name[:most-len(hash)] + hash
}
