package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// ChildUpdateMethod says what happens to a child that differs from what the hook wants.
type ChildUpdateMethod string

const (
	// ChildUpdateOnDelete leaves the child alone until somebody deletes it.
	ChildUpdateOnDelete ChildUpdateMethod = "OnDelete"
	// ChildUpdateRecreate deletes the child at once and makes it anew.
	ChildUpdateRecreate ChildUpdateMethod = "Recreate"
	// ChildUpdateInPlace writes the difference to the child at once.
	ChildUpdateInPlace ChildUpdateMethod = "InPlace"
	// ChildUpdateRollingRecreate deletes and makes anew, a few children at a time.
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	// ChildUpdateRollingInPlace writes the difference, to a few children at a time.
	ChildUpdateRollingInPlace ChildUpdateMethod = "RollingInPlace"
)

// Rolling says whether the method updates children a few at a time.
func (m ChildUpdateMethod) Rolling() bool {
	return m == ChildUpdateRollingRecreate || m == ChildUpdateRollingInPlace
}

// AtOnce is the method without its pace: Recreate for RollingRecreate, InPlace
// for RollingInPlace, OnDelete for none, and any other as it is. Decorators,
// which accept the rolling methods as metacontroller does, use it.
func (m ChildUpdateMethod) AtOnce() ChildUpdateMethod {
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

// RolloutOrder is the order in which a rolling update reaches the children of one resource.
type RolloutOrder string

const (
	// RolloutAsListed is the order of the hook's answer.
	RolloutAsListed RolloutOrder = "AsListed"
	// RolloutReverse begins with the last child of the hook's answer, as a StatefulSet
	// begins with the highest ordinal.
	RolloutReverse RolloutOrder = "Reverse"
)

// ChildUpdateStrategy says how the children of one resource follow what the hook wants.
// +kubebuilder:validation:XValidation:rule="(has(self.method) && self.method.startsWith('Rolling')) || !(has(self.maxUnavailable) || has(self.partition) || has(self.paused) || has(self.progressDeadlineSeconds) || (has(self.order) && self.order != 'AsListed'))",message="maxUnavailable, order, partition, paused and progressDeadlineSeconds are for rolling updates: set method to RollingRecreate or RollingInPlace, or leave them out"
type ChildUpdateStrategy struct {
	// Method is OnDelete if absent.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
	// StatusChecks have to pass on every child already updated before a rolling
	// update goes on to the next. Methods that are not rolling don't read them.
	// +optional
	StatusChecks ChildStatusChecks `json:"statusChecks,omitzero"`
	// MaxUnavailable bounds how many children of this rule may be in the middle
	// of a rolling update at a time: a number of at least 1, or a percentage of
	// the wanted children from 1% to 100%, rounded down but never below one
	// child. Absent means 1, which is what metacontroller does.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 : string(self).matches('^([1-9][0-9]?|100)%$')",message="must be a number of at least 1, or a percentage from 1% to 100% such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Order is the order in which a rolling update reaches the children of this
	// rule: AsListed, that of the hook's answer, or Reverse, from the last child to
	// the first, as a StatefulSet goes from the highest ordinal down.
	// +optional
	// +kubebuilder:default=AsListed
	// +kubebuilder:validation:Enum=AsListed;Reverse
	Order RolloutOrder `json:"order,omitempty"`
	// Partition is how many children of this rule a rolling update leaves at the
	// revision that they have: those that it would reach last, which are the last
	// ones in the hook's answer, or with order Reverse the first ones. New children
	// among them are made from the old revision. Absent means 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more: it counts the children that keep their revision"
	Partition *int32 `json:"partition,omitempty"`
	// Paused stops a rolling update where it is: no further child changes its
	// revision until it is false again, and new children are made from the old
	// revision. Absent means false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
	// ProgressDeadlineSeconds is how long a rolling update may go on without
	// moving a child before the parent's condition Updated says that it is stuck.
	// It goes on trying. Absent means that it is never called stuck.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be at least 1 second: leave it out for no deadline"
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// ChildStatusChecks are what tells a rolling update that a child is well.
type ChildStatusChecks struct {
	// Conditions must all be found in the child's status.conditions.
	// +optional
	// +listType=atomic
	Conditions []StatusConditionCheck `json:"conditions,omitempty"`
}

// StatusConditionCheck is what one condition of a child must look like.
type StatusConditionCheck struct {
	// Type is the type of the condition, which must be there.
	Type string `json:"type"`
	// Status is the status that it must have; absent means any.
	// +optional
	Status *string `json:"status,omitempty"`
	// Reason is the reason that it must have; absent means any.
	// +optional
	Reason *string `json:"reason,omitempty"`
}

// AttachmentUpdateStrategy says how a decorator's attachments of one resource follow
// what the hook wants.
type AttachmentUpdateStrategy struct {
	// Method is OnDelete if absent. A decorator updates all attachments at once,
	// so that RollingRecreate means Recreate here, and RollingInPlace InPlace, as
	// in metacontroller.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// OutputUpdateStrategy says how a map's outputs of one resource follow what the hook wants.
type OutputUpdateStrategy struct {
	// Method is OnDelete if absent. A map has no rolling updates.
	// +optional
	// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace
	Method ChildUpdateMethod `json:"method,omitempty"`
}

// ApplyStrategy is a way of writing what the hook wants to a child that exists.
type ApplyStrategy string

const (
	// DynamicApply merges what the hook wants, what it wanted last time and what
	// is there, and remembers the former in an annotation, as metacontroller does.
	DynamicApply ApplyStrategy = "DynamicApply"
	// ServerSideApply leaves merging to the API server, under a field manager of
	// the definition's own.
	ServerSideApply ApplyStrategy = "ServerSideApply"
)

// ApplySettings say how the objects of one resource rule are written.
type ApplySettings struct {
	// ApplyStrategy overrides the definition's for this resource.
	// +optional
	// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`
	// ForceConflicts takes over fields that another field manager has set to
	// something else, in server-side apply. False reports the conflict and tries
	// again later. Absent means true, as in metacontroller.
	// +optional
	ForceConflicts *bool `json:"forceConflicts,omitempty"`
}

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

// Force says whether server-side apply takes fields from other field managers.
func (a ApplySettings) Force() bool { return a.ForceConflicts == nil || *a.ForceConflicts }
