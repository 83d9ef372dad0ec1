package apply

import "k8s.io/apimachinery/pkg/runtime/schema"

// phase is a part of an execution that ends before the next one begins.
type phase int

const (
	adopting phase = iota
	deletingOthers
	deletingPermissions
	deletingFoundations
	writingFoundations
	writingPermissions
	writingOthers
	phases
)

// phaseOf returns the phase of a change. A recreation is a deletion, but of an
// object that is desired, so that it waits its turn like an update.
func phaseOf(c Change) phase {
	need := needOf(c.Key.Kind.GroupKind())
	switch c.Action {
	case ActionAdopt, ActionRelease, ActionOrphan:
		return adopting
	case ActionDelete:
		return [...]phase{deletingFoundations, deletingPermissions, deletingOthers}[need]
	default:
		return [...]phase{writingFoundations, writingPermissions, writingOthers}[need]
	}
}

// need is how much else may depend on an object.
type need int

const (
	foundation need = iota
	permission
	other
)

// needOf depends on the kind, whatever the version.
func needOf(kind schema.GroupKind) need {
	switch kind {
	case schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return foundation
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return permission
	}
	if kind.Group == "rbac.authorization.k8s.io" {
		return permission
	}
	return other
}
