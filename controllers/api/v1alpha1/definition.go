package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefinitionSettings are the parts of a spec that every kind of definition has.
type DefinitionSettings struct {
	// ScriptSources make up the module tree that the script hooks are taken from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ScriptSources []ScriptSource `json:"scriptSources,omitempty"`
	// EndpointConfigs give credentials to webhooks by host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.host.lowerAscii() == b.host.lowerAscii()))",message="a host is listed twice: put its settings into one entry"
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`
	// ApplyStrategy is how children are written where their own rule does not
	// say: DynamicApply, a three-way merge by the host, or ServerSideApply. Absent
	// means what the host's --apply-strategy says.
	// +optional
	// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`
	// ResyncPeriodSeconds is how often every parent is synced though nothing
	// changed. Absent means only at the host's own resync.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be at least 1 second: leave it out for no resync of this definition's own"
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`
}

// ResyncPeriod is how often every parent is synced though nothing changed, and
// zero if the definition does not ask for it.
func (s *DefinitionSettings) ResyncPeriod() time.Duration {
	if s.ResyncPeriodSeconds == nil {
		return 0
	}
	return max(1, time.Duration(*s.ResyncPeriodSeconds)) * time.Second
}

// Types of the conditions of a definition. They stay in this order and are all there
// once the definition has been looked at.
const (
	// ConditionAccepted says whether the spec is valid and all of its resources are served.
	ConditionAccepted = "Accepted"
	// ConditionScriptsReady says whether the newest scripts were loaded. If it is
	// False, its message says what is wrong, with file, line and column, and the
	// last scripts that loaded go on. It is True for a definition without scripts.
	ConditionScriptsReady = "ScriptsReady"
	// ConditionReady says whether parents are synced as the spec says.
	ConditionReady = "Ready"
)

// DefinitionStatus is what the host tells about a definition.
type DefinitionStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Accepted (the spec is valid and its resources are served),
	// ScriptsReady (the newest scripts were loaded; if not, the last good ones go
	// on) and Ready (parents are synced as the spec says).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ScriptRevision is a hash of the paths and contents of the scripts that
	// serve now, inline ones included: one for all hooks of the definition. While
	// nothing serves it is that of what served last, which the host reads back at its
	// start if the scripts do not load. Absent means that no hook is a script, or that
	// none has loaded yet.
	// +optional
	ScriptRevision string `json:"scriptRevision,omitempty"`
	// Parents is how many objects the definition looks after.
	// +optional
	Parents *int32 `json:"parents,omitempty"`
}
