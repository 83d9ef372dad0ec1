package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DefaultRevisionHistoryLimit is the number of old revisions of a parent that are kept by default.
const DefaultRevisionHistoryLimit = 10

// CompositeController defines a controller that makes, updates and deletes children for
// each of its parents, so that they are what its hooks answer.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=compositecontrollers,scope=Cluster,shortName=cc;cctl,categories=libretto
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, request not yet submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="ParentsSynced")].status`
// +kubebuilder:printcolumn:name="Scripts",type=string,JSONPath=`.status.conditions[?(@.type=="ScriptsReady")].reason`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.scriptRevision`
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.failingParents`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.waitingParents`
// +kubebuilder:printcolumn:name="Outdated",type=integer,priority=1,JSONPath=`.status.outdatedChildren`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Failures",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ParentsSynced")].message`
// +kubebuilder:printcolumn:name="Scripts-Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ScriptsReady")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CompositeController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the controller does.
	Spec CompositeControllerSpec `json:"spec"`
	// Status is the last observed state of the controller.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DefinitionStatus `json:"status,omitzero"`
}

// CompositeControllerSpec is what a CompositeController does.
// +kubebuilder:validation:XValidation:rule="has(self.hooks) && has(self.hooks.sync)",message="hooks.sync is needed: it says which children a parent has"
// +kubebuilder:validation:XValidation:rule="(has(self.scriptSources) && self.scriptSources.size() > 0) || !has(self.hooks) || !((has(self.hooks.sync) && has(self.hooks.sync.script) && has(self.hooks.sync.script.path)) || (has(self.hooks.finalize) && has(self.hooks.finalize.script) && has(self.hooks.finalize.script.path)) || (has(self.hooks.customize) && has(self.hooks.customize.script) && has(self.hooks.customize.script.path)))",message="a script given by path comes from scriptSources, and there is no source: add one, or write the script as inline",fieldPath=".scriptSources"
// +kubebuilder:validation:XValidation:rule="!has(self.childResources) || self.childResources.all(r, !has(r.forceConflicts) || (has(r.applyStrategy) ? r.applyStrategy == 'ServerSideApply' : has(self.applyStrategy) && self.applyStrategy == 'ServerSideApply'))",message="forceConflicts is for server-side apply: set applyStrategy to ServerSideApply on the same rule or on spec, or leave it out",fieldPath=".childResources"
type CompositeControllerSpec struct {
	// ParentResource is the resource whose objects are the parents. The controller
	// expects their status to be its own.
	ParentResource CompositeParentRule `json:"parentResource"`
	// ChildResources are the resources that children may be of, each in one version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.apiVersion == b.apiVersion && a.resource == b.resource))",message="a resource is listed twice: leave one entry for it"
	ChildResources []CompositeChildRule `json:"childResources,omitempty"`
	// Hooks are the code of the controller.
	// +optional
	Hooks *CompositeHooks `json:"hooks,omitempty"`
	// GenerateSelector labels children with their parent's UID, selects them by that
	// label and ignores the parent's spec.selector. Defaults to false.
	// +optional
	GenerateSelector *bool `json:"generateSelector,omitempty"`
	// RevisionHistoryLimit is the number of old ControllerRevisions of a parent
	// that are kept although no child is of them any more. Defaults to 10; 0 keeps
	// none. There are ControllerRevisions only if some method is a rolling one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more: it counts the old revisions that are kept"
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	DefinitionSettings `json:",inline"`
}

// CompositeParentRule names the resource whose objects are the parents.
// +kubebuilder:validation:XValidation:rule="!has(self.statusConditions) || self.statusConditions != 'Sync' || !has(self.statusWrites) || self.statusWrites != 'Never'",message="conditions of a sync are in the status: set statusWrites to Always or WhenReturned, or leave statusConditions out",fieldPath=".statusConditions"
type CompositeParentRule struct {
	ParentRule `json:",inline"`
	// RevisionHistory selects the fields whose change is rolled out.
	// +optional
	RevisionHistory *RevisionHistory `json:"revisionHistory,omitempty"`
	// StatusWrites is when the status of a parent is written: Always, where a hook that
	// returns none means observedGeneration alone, unless another definition may write the
	// status too; WhenReturned by a hook; or Never. Defaults to Always.
	// +optional
	// +kubebuilder:validation:Enum=Always;WhenReturned;Never
	StatusWrites StatusWrites `json:"statusWrites,omitempty"`
	// StatusConditions is where the conditions Ready, Reconciling and Stalled of a parent
	// come from: Hook, or Sync, by which the host says of its own sync whether the children
	// are as the hooks want them, and ready, unless the hooks return one of the three.
	// Parents of a built-in kind have none of the host's. Defaults to Hook.
	// +optional
	// +kubebuilder:validation:Enum=Hook;Sync
	StatusConditions StatusConditions `json:"statusConditions,omitempty"`
}

// StatusConditions is where the conditions of a parent come from.
type StatusConditions string

const (
	HookStatusConditions StatusConditions = "Hook"
	SyncStatusConditions StatusConditions = "Sync"
)

// StatusWrites is when the status of a parent is written.
type StatusWrites string

const (
	AlwaysStatusWrites       StatusWrites = "Always"
	WhenReturnedStatusWrites StatusWrites = "WhenReturned"
	NeverStatusWrites        StatusWrites = "Never"
)

// RevisionHistory selects the fields whose change is rolled out.
type RevisionHistory struct {
	// FieldPaths are the fields of a parent, such as spec.template, whose change
	// is rolled out. A change of other fields reaches all children at once. Defaults
	// to spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	FieldPaths []string `json:"fieldPaths,omitempty"`
	// ScriptChanges is how an edit of the scripts reaches the children that are updated
	// by a rolling method: Immediate, all at once, or Rolling, one after another as a
	// change of the fields does. Defaults to Immediate.
	// +optional
	// +kubebuilder:validation:Enum=Immediate;Rolling
	ScriptChanges ScriptChanges `json:"scriptChanges,omitempty"`
}

// ScriptChanges is how an edit of the scripts reaches children that are updated by a rolling method.
type ScriptChanges string

const (
	ImmediateScriptChanges ScriptChanges = "Immediate"
	RollingScriptChanges   ScriptChanges = "Rolling"
)

// CompositeChildRule names a resource that children may be of, and how they are updated.
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Orphan' || !has(self.updateStrategy) || !has(self.updateStrategy.method) || !(self.updateStrategy.method in ['Recreate', 'RollingRecreate'])",message="deletionPolicy Orphan deletes nothing, and this updateStrategy does: choose InPlace, or Delete"
type CompositeChildRule struct {
	ResourceRule `json:",inline"`
	// UpdateStrategy defaults to OnDelete.
	// +optional
	UpdateStrategy *ChildUpdateStrategy `json:"updateStrategy,omitempty"`

	ApplySettings `json:",inline"`
}

// CompositeHooks are the code of a CompositeController.
type CompositeHooks struct {
	// Sync returns the children of a parent and its status. It is required.
	// +optional
	Sync *Hook `json:"sync,omitempty"`
	// Finalize is called in place of sync for a parent that is being deleted or no
	// longer matches. The definition's finalizer stays on the parent until the
	// answer has finalized: true. Without this hook there is no finalizer.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`
	// Customize selects related objects that the other hooks of a parent are sent.
	// +optional
	Customize *Hook `json:"customize,omitempty"`
	// PreUpdateChild is accepted because metacontroller accepts it, and is never
	// called, there or here.
	// +optional
	PreUpdateChild *Hook `json:"preUpdateChild,omitempty"`
	// PostUpdateChild is accepted because metacontroller accepts it, and is never
	// called, there or here.
	// +optional
	PostUpdateChild *Hook `json:"postUpdateChild,omitempty"`
}

// Defined returns the hooks that are given and called, always in the same order.
func (h *CompositeHooks) Defined() []NamedHook {
	if h == nil {
		return nil
	}
	return definedHooks(NamedHook{SyncHook, h.Sync}, NamedHook{FinalizeHook, h.Finalize}, NamedHook{CustomizeHook, h.Customize})
}

// RevisionFields returns the paths of the fields whose change is rolled out.
func (s *CompositeControllerSpec) RevisionFields() []string {
	if history := s.ParentResource.RevisionHistory; history != nil && len(history.FieldPaths) > 0 {
		return history.FieldPaths
	}
	return []string{"spec"}
}

// RollsScripts reports whether an edit of the scripts is rolled out like a change of those fields. What a webhook answers
// has no revision.
func (s *CompositeControllerSpec) RollsScripts() bool {
	return s.WantsRollingScripts() && s.Hooks != nil && s.Hooks.Sync != nil && s.Hooks.Sync.Serving() == ScriptBackend
}

// WantsRollingScripts reports whether the spec says that edits of the scripts are rolled out.
func (s *CompositeControllerSpec) WantsRollingScripts() bool {
	history := s.ParentResource.RevisionHistory
	return history != nil && history.ScriptChanges == RollingScriptChanges
}

// RevisionLimit returns how many old revisions of a parent are kept.
func (s *CompositeControllerSpec) RevisionLimit() int {
	if s.RevisionHistoryLimit == nil {
		return DefaultRevisionHistoryLimit
	}
	return int(*s.RevisionHistoryLimit)
}

// UpdateMethod returns the method, OnDelete by default.
func (r *CompositeChildRule) UpdateMethod() ChildUpdateMethod {
	if r.UpdateStrategy == nil || r.UpdateStrategy.Method == "" {
		return ChildUpdateOnDelete
	}
	return r.UpdateStrategy.Method
}

// CompositeControllerList is a list of CompositeControllers.
// +kubebuilder:object:root=true
type CompositeControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CompositeController `json:"items"`
}
