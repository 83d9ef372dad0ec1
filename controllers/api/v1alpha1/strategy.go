package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// ChildUpdateMethod is how a child that differs from the desired one is updated.
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete leaves the child alone until it is deleted.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes the child at once and creates it again.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace writes the difference to the child at once.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate deletes and creates again, a few children at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace writes the difference, to a few children at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)

// IsRolling reports whether the method updates children a few at a time.
func (m ChildUpdateMethod) IsRolling() bool {
	return m == ChildUpdateRollingRecreate || m == ChildUpdateRollingInPlace
}

// WithoutRolling returns the method for all children at once: Recreate for RollingRecreate, InPlace
// for RollingInPlace, OnDelete for none, and any other unchanged. Decorators use it, as they
// accept the rolling methods like metacontroller.
func (m ChildUpdateMethod) WithoutRolling() ChildUpdateMethod {
	switch m {
	case ChildUpdateRollingRecreate:
		return ChildUpdateRecreate
	case ChildUpdateRollingInPlace:
		return ChildUpdateInPlace
	case "":
		return ChildUpdateOnDelete
	default:
		return m
	}
}

// RolloutOrder is the order in which a rolling update updates the children of one resource.
type RolloutOrder string

const (
	// RolloutAsListed is the order of the hook's answer.
	RolloutAsListed RolloutOrder = "AsListed"
	// RolloutReverse starts with the last child of the hook's answer, as a StatefulSet
	// starts with the highest ordinal.
	RolloutReverse RolloutOrder = "Reverse"
)

// ChildUpdateStrategy is how the children of one resource are updated.
// +kubebuilder:validation:XValidation:rule="(has(self.method) && self.method.startsWith('Rolling')) || !(has(self.maxUnavailable) || has(self.partition) || has(self.paused) || has(self.progressDeadlineSeconds) || (has(self.order) && self.order != 'AsListed'))",message="maxUnavailable, order, partition, paused and progressDeadlineSeconds are for rolling updates: set method to RollingRecreate or RollingInPlace, or leave them out"
type ChildUpdateStrategy struct {
	// Method defaults to OnDelete.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
	// StatusChecks must pass on every updated child before a rolling update
	// continues with the next. Methods that are not rolling ignore them.
	// +optional
	StatusChecks ChildStatusChecks `json:"statusChecks,omitzero"`
	// Of fields that are a number or a percentage, text is checked by its pattern, and the type by "in": Kubernetes 1.33 takes their text to
	// be as long as a request, so that a rule which compares or matches it costs too much there, and the CustomResourceDefinition is refused.

	// MaxUnavailable is the number of children of this rule that may be unavailable
	// during a rolling update: a number of at least 1, or a percentage of the desired
	// children from 1% to 100%, rounded down but never below one child. Defaults to 1,
	// as in metacontroller.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1",message="must be a number of at least 1, or a percentage from 1% to 100% such as 25%"
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Order is the order of a rolling update: AsListed, that of the hook's answer, or
	// Reverse, from the last child to the first, as a StatefulSet starts with the
	// highest ordinal.
	// +optional
	// +kubebuilder:default=AsListed
	// +kubebuilder:validation:Enum=AsListed;Reverse
	Order RolloutOrder `json:"order,omitempty"`
	// Partition is the number of children of this rule that keep their revision in a
	// rolling update: the last ones in the hook's answer, or with order Reverse the
	// first ones. New children among them are created from the old revision. Defaults
	// to 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more: it counts the children that keep their revision"
	Partition *int32 `json:"partition,omitempty"`
	// Paused stops a rolling update: no further child changes its revision until this
	// is false again, and new children are created from the old revision. Defaults to
	// false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
	// ProgressDeadlineSeconds is the time in which a rolling update must start the
	// update of another child. After it the parent's condition Updated has reason
	// ProgressDeadlineExceeded, and the rolling update continues when it can. Defaults to
	// no deadline.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be at least 1 second: leave it out for no deadline"
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// ChildStatusChecks define when a child is healthy.
type ChildStatusChecks struct {
	// Conditions must all be in the child's status.conditions.
	// +optional
	// +listType=atomic
	Conditions []StatusConditionCheck `json:"conditions,omitempty"`
}

// StatusConditionCheck is a requirement on one condition of a child.
type StatusConditionCheck struct {
	// Type is the type of the condition, which must exist.
	Type string `json:"type"`
	// Status is the required status. Defaults to any.
	// +optional
	Status *string `json:"status,omitempty"`
	// Reason is the required reason. Defaults to any.
	// +optional
	Reason *string `json:"reason,omitempty"`
}

// AttachmentUpdateStrategy is how a decorator's attachments of one resource are updated.
type AttachmentUpdateStrategy struct {
	// Method defaults to OnDelete. A decorator updates all attachments at once: as in
	// metacontroller, RollingRecreate means Recreate, and RollingInPlace InPlace.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// OutputUpdateStrategy is how a map's outputs of one resource are updated.
type OutputUpdateStrategy struct {
	// Method defaults to OnDelete. A map has no rolling updates.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// ApplyStrategy is how changes are written to an existing child.
type ApplyStrategy string

const (
	// DynamicApply merges the desired, the last desired and the observed object. It
	// stores the last desired one in an annotation, as metacontroller does.
	DynamicApply ApplyStrategy = "DynamicApply"
	// ServerSideApply lets the API server merge, with a field manager of the
	// definition's own.
	ServerSideApply ApplyStrategy = "ServerSideApply"
)

// ApplySettings are how the objects of one resource rule are written.
type ApplySettings struct {
	// ApplyStrategy overrides the definition's for this resource.
	// +optional
	// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`
	// ForceConflicts makes server-side apply take over fields that another field
	// manager has set to other values. False reports the conflict and retries later.
	// Defaults to true, as in metacontroller.
	// +optional
	ForceConflicts *bool `json:"forceConflicts,omitempty"`
	// IgnoreDifferences are fields, such as spec.replicas, that are set when an object
	// of this resource is created, and left to others from then on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(f, f != '' && !f.startsWith('.') && !f.endsWith('.') && !f.contains('..') && !(f in ['apiVersion', 'kind', 'metadata', 'metadata.name', 'metadata.namespace', 'metadata.generateName', 'metadata.ownerReferences', 'status']))",message="write the path of a field below spec, data or metadata, such as spec.replicas or metadata.annotations: not what identifies an object, and not its status"
	IgnoreDifferences []string `json:"ignoreDifferences,omitempty"`
	// DeletionPolicy overrides the definition's for this resource.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what becomes of children that are not wanted any more.
type DeletionPolicy string

const (
	// DeleteChildren has them deleted, also by the garbage collector with their parent.
	DeleteChildren DeletionPolicy = "Delete"
	// OrphanChildren lets go of them: nothing of what they are is lost.
	OrphanChildren DeletionPolicy = "Orphan"
)

// Strategy is how the rule's objects are written: as the rule says, else as the
// definition says, else as the host's flag says.
func (a ApplySettings) Strategy(definition, host ApplyStrategy) ApplyStrategy {
	switch {
	case a.ApplyStrategy != "":
		return a.ApplyStrategy
	case definition != "":
		return definition
	default:
		return host
	}
}

// Force reports whether server-side apply takes over fields of other field managers.
func (a ApplySettings) Force() bool { return a.ForceConflicts == nil || *a.ForceConflicts }

// Ignored returns IgnoreDifferences.
func (a ApplySettings) Ignored() []string { return a.IgnoreDifferences }

// Orphan reports whether children of the rule are let go of instead of deleted: as the rule says,
// else as the definition says.
func (a ApplySettings) Orphan(definition DeletionPolicy) bool {
	return cmp.Or(a.DeletionPolicy, definition) == OrphanChildren
}
