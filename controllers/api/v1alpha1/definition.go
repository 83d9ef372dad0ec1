package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefinitionSettings are the parts of a spec that every kind of definition has.
type DefinitionSettings struct {
	// ServiceAccountRef is the account that the host works as for this definition: it
	// writes children, parents and events, reads scripts and Secrets, and scripts are
	// shown nothing that the account may not list and watch. Without it, or where the
	// host does not know the field, the host's own account is used.
	// +optional
	ServiceAccountRef *ServiceAccountReference `json:"serviceAccountRef,omitempty"`
	// ScriptSources make up the module tree that the script hooks are taken from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ScriptSources []ScriptSource `json:"scriptSources,omitempty"`
	// ScriptTests says what happens to a new text whose tests fail: those in files of
	// scriptSources whose names end in _test.yaml, and have kind ControllerTest. Run holds
	// the text back, and the last good one stays in use; Ignore runs no tests. Defaults
	// to Run.
	// +optional
	// +kubebuilder:validation:Enum=Run;Ignore
	ScriptTests ScriptTests `json:"scriptTests,omitempty"`
	// ScriptRollout is how an edit of the scripts, or of what the hooks say of them,
	// reaches the parents. Without it all parents get an edit at once, if a preview of a
	// sample of them lets it.
	// +optional
	ScriptRollout *ScriptRollout `json:"scriptRollout,omitempty"`
	// DeletionGuard bounds what is deleted within ten minutes also if nothing was edited:
	// a related object may vanish, or a webhook answer with an empty list. What a parent
	// that is changed or deleted asks for does not count.
	// +optional
	DeletionGuard *DeletionGuard `json:"deletionGuard,omitempty"`
	// EndpointConfigs give credentials to webhooks by host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.host.lowerAscii() == b.host.lowerAscii()))",message="a host is listed twice: put its settings into one entry"
	EndpointConfigs []EndpointConfig `json:"endpointConfigs,omitempty"`
	// ApplyStrategy is how children are written if their own rule sets none:
	// DynamicApply, a three-way merge by the host, or ServerSideApply. Defaults to
	// the host's --apply-strategy.
	// +optional
	// +kubebuilder:validation:Enum=DynamicApply;ServerSideApply
	ApplyStrategy ApplyStrategy `json:"applyStrategy,omitempty"`
	// DeletionPolicy is what becomes of children that a hook wants no more, or whose
	// parent is deleted, if their own rule sets none: Delete, or Orphan, which lets go of
	// them. Defaults to Delete.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// RelatedResources list what the customize hook may ask for. A rule of its answer for
	// a resource, a name or a namespace that is not listed is refused; of the rest the
	// hooks are sent the objects that a listed label selector matches too. Without the
	// list a webhook may ask for everything, and a script for everything but Secrets. An
	// entry with nameFrom selects what parents name, and needs no hook.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	RelatedResources []RelatedResourceRule `json:"relatedResources,omitempty"`
	// ResyncPeriodSeconds is the time between two syncs of an unchanged parent.
	// Defaults to the host's own resync.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be at least 1 second: leave it out for no resync of this definition's own"
	ResyncPeriodSeconds *int32 `json:"resyncPeriodSeconds,omitempty"`
}

// ResyncPeriod returns the time between two syncs of an unchanged parent, or zero if the
// definition sets none.
func (s *DefinitionSettings) ResyncPeriod() time.Duration {
	if s.ResyncPeriodSeconds == nil {
		return 0
	}
	return time.Duration(max(1, *s.ResyncPeriodSeconds)) * time.Second
}

// ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a ServiceAccount: lower case letters, digits, - and ."
	Name string `json:"name"`
	// Namespace of the ServiceAccount.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and -"
	Namespace string `json:"namespace"`
}

// ScriptTests is what the host does with the tests that come with scripts.
type ScriptTests string

const (
	RunScriptTests    ScriptTests = "Run"
	IgnoreScriptTests ScriptTests = "Ignore"
)

// Types of the conditions of a definition. The first status has all of them but Authorized, Progressing, Stalled and Reconciling, in this
// order.
const (
	// ConditionAccepted reports whether the spec is valid and all of its resources are served.
	ConditionAccepted = "Accepted"
	// ConditionScriptsReady reports whether the newest scripts were loaded and passed their
	// tests. If it is False, its message has the error with file, line and column, and the
	// last scripts that did stay in use. It is True for a definition without scripts.
	ConditionScriptsReady = "ScriptsReady"
	// ConditionReady reports whether parents are synced by the present spec and the newest scripts.
	ConditionReady = "Ready"
	// ConditionParentsSynced reports whether the last syncs of all parents succeeded. If it is
	// False, its message has up to three of the parents that fail, with the place in the script.
	ConditionParentsSynced = "ParentsSynced"
	// ConditionProgressing is False, with the reason Held, while scripts that load are held because of what
	// they would do, or RolledBack while an edit has been taken back. It comes with the first edit that is
	// held, or with steps of a rollout.
	ConditionProgressing = "Progressing"
	// ConditionAuthorized reports whether the account of a definition may do what is known to be needed. It is there if the spec names one.
	ConditionAuthorized = "Authorized"
	// ConditionStalled and ConditionReconciling are those of kstatus, and are there only while they are True: an edit of the spec or of the
	// scripts does not take over before someone acts, or is on its way.
	ConditionStalled     = "Stalled"
	ConditionReconciling = "Reconciling"
)

// DefinitionStatus is the last observed state of a definition.
type DefinitionStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Accepted (the spec is valid and its resources are served),
	// ScriptsReady (the newest scripts were loaded; if not, the last good ones stay
	// in use), Ready (parents are synced by the present spec and the newest scripts)
	// and ParentsSynced (the last syncs of all parents succeeded; if not, its message
	// has the parents that fail, and the place in the script). Progressing is False
	// while an edit of the scripts is held because of what it would do. Authorized is
	// False while the account that the spec names lacks rights that its message has. Stalled is
	// True while an edit waits for someone, and Reconciling while it is on its way;
	// otherwise they are absent.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ScriptRevision is a hash of the paths and contents of all scripts in use,
	// inline ones included. While no script is in use it is that of the last ones, which
	// the host restores when it starts if the present scripts do not load. It is absent
	// if no hook is a script, or if none has loaded yet.
	// +optional
	ScriptRevision string `json:"scriptRevision,omitempty"`
	// ScriptRevisionHash is the whole SHA-256, in hexadecimal digits, of which
	// scriptRevision has the first 16. Scripts are restored only if this is their hash.
	// +optional
	ScriptRevisionHash string `json:"scriptRevisionHash,omitempty"`
	// PreviousScriptRevisionHash is the whole SHA-256 of the revision that served all
	// parents before scriptRevisionHash, and that the command libretto rollback goes
	// back to. It is absent until an edit has taken over.
	// +optional
	PreviousScriptRevisionHash string `json:"previousScriptRevisionHash,omitempty"`
	// ObservedScriptRevisionHash is the whole SHA-256 of the revision that the script
	// sources held when the host read them last, whether it serves or not. It is absent
	// if no hook is a script, or if a file is missing.
	// +optional
	ObservedScriptRevisionHash string `json:"observedScriptRevisionHash,omitempty"`
	// ScriptRollout is how far an edit of the scripts has come. It is absent if none
	// was held or approved.
	// +optional
	ScriptRollout *ScriptRolloutStatus `json:"scriptRollout,omitempty"`
	// DeletionGuard is what bounds the children that an edit deletes.
	// +optional
	DeletionGuard *DeletionGuardStatus `json:"deletionGuard,omitempty"`
	// Parents is the number of parents of the definition.
	// +optional
	Parents *int32 `json:"parents,omitempty"`
	// UpdatedParents is the number of parents whose last sync, successful or not, was by
	// scriptRevisionHash and by the present spec. It is absent while that is not known.
	// +optional
	UpdatedParents *int32 `json:"updatedParents,omitempty"`
	// SyncedParents is the number of parents whose last sync succeeded, without those
	// that wait. Parents that have not been synced yet are in no count but parents.
	// +optional
	SyncedParents *int32 `json:"syncedParents,omitempty"`
	// FailingParents is the number of parents whose last sync failed. The condition
	// ParentsSynced names some of them.
	// +optional
	FailingParents *int32 `json:"failingParents,omitempty"`
	// WaitingParents is the number of parents whose children stay as they are because a
	// hook has answered waiting.
	// +optional
	WaitingParents *int32 `json:"waitingParents,omitempty"`
	// OutdatedChildren is the number of children, of all parents, that are not as the
	// hooks want them and are left alone by the update method OnDelete. It is absent if
	// no resource of children has that method.
	// +optional
	OutdatedChildren *int32 `json:"outdatedChildren,omitempty"`
	// SyncedInputs is the number of inputs of a MapController, of all parents, whose
	// outputs are as its hooks want them. An input of two parents counts twice.
	// +optional
	SyncedInputs *int32 `json:"syncedInputs,omitempty"`
	// FailingInputs is the number of inputs of a MapController whose hooks failed.
	// +optional
	FailingInputs *int32 `json:"failingInputs,omitempty"`
	// WaitingInputs is the number of inputs whose outputs stay as they are because a hook
	// of the MapController has answered waiting.
	// +optional
	WaitingInputs *int32 `json:"waitingInputs,omitempty"`
}

// DeletionGuard limits the children that are deleted. Each limit is a number, or a percentage
// of the children that there were before.
// +kubebuilder:validation:XValidation:rule="has(self.maxDeletedChildren) || has(self.maxRecreatedChildren)",message="maxDeletedChildren or maxRecreatedChildren is required: without both nothing is bounded"
type DeletionGuard struct {
	// MaxDeletedChildren limits the children that are deleted.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of 0 or more, or a percentage from 0% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9]?[0-9]|100)%$`
	MaxDeletedChildren *intstr.IntOrString `json:"maxDeletedChildren,omitempty"`
	// MaxRecreatedChildren limits the children that are deleted and created again.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of 0 or more, or a percentage from 0% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9]?[0-9]|100)%$`
	MaxRecreatedChildren *intstr.IntOrString `json:"maxRecreatedChildren,omitempty"`
}

// DeletionGuardStatus is what bounds the children that an edit deletes, over restarts
// of the host.
type DeletionGuardStatus struct {
	// Settled is the edit whose deletions are not counted, unless spec.deletionGuard is
	// set: it has served for ten minutes, or was the first one.
	// +optional
	Settled GuardedEdit `json:"settled,omitzero"`
	// Edit is what serves, or began to serve last.
	// +optional
	Edit GuardedEdit `json:"edit,omitzero"`
	// Since is when it began to serve. It is absent once it has settled.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Parents is the number of parents before the first child was deleted that counts. It
	// is absent until then.
	// +optional
	Parents *int32 `json:"parents,omitempty"`
	// CountedAt is when they were counted.
	// +optional
	CountedAt *metav1.Time `json:"countedAt,omitempty"`
	// Children are the numbers of children before that.
	// +optional
	// +listType=atomic
	Children []ChildCount `json:"children,omitempty"`
}

// GuardedEdit is what decides about the children of a definition.
type GuardedEdit struct {
	// SpecHash is the SHA-256 of the spec, without scriptRollout and deletionGuard.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Revision is the ID of the scripts, if some hook is a script.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// ChildCount is a number of children of a kind.
type ChildCount struct {
	// Group is the API group of the kind. It is empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Kind is the kind.
	Kind string `json:"kind"`
	// Count is how many there were, with those that edits had deleted before they were counted.
	Count int32 `json:"count"`
	// Recreated is how many of them edits had recreated by then.
	// +optional
	Recreated int32 `json:"recreated,omitempty"`
}
