package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DefaultRevisionHistoryLimit is how many old revisions of a parent are kept where the definition gives no number.
const DefaultRevisionHistoryLimit = 10

// CompositeController defines a controller that makes, updates and deletes children for
// each of its parents, so that they are what its hooks answer.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=compositecontrollers,scope=Cluster,shortName=cc;cctl
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, request not yet submitted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Scripts",type=string,JSONPath=`.status.conditions[?(@.type=="ScriptsReady")].reason`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.scriptRevision`
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Scripts-Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ScriptsReady")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CompositeController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the controller does.
	Spec CompositeControllerSpec `json:"spec"`
	// Status is how it fares.
	// +optional
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
	// ChildResources are the resources that children may be of. Of two entries for
	// one resource the last counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	ChildResources []CompositeChildRule `json:"childResources,omitempty"`
	// Hooks are the code of the controller.
	// +optional
	Hooks *CompositeHooks `json:"hooks,omitempty"`
	// GenerateSelector has children labelled with their parent's UID and found by
	// it, and disregards the parent's spec.selector. Absent means false.
	// +optional
	GenerateSelector *bool `json:"generateSelector,omitempty"`
	// RevisionHistoryLimit is how many old ControllerRevisions of a parent are
	// kept when no child is of them any more, to tell what was there before.
	// Absent means 10; 0 keeps none. Without a rolling update there are none.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more: it counts the old revisions that are kept"
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	DefinitionSettings `json:",inline"`
}

// CompositeParentRule names the resource whose objects are the parents.
type CompositeParentRule struct {
	ParentRule `json:",inline"`
	// RevisionHistory says what a rolling update is about.
	// +optional
	RevisionHistory *RevisionHistory `json:"revisionHistory,omitempty"`
}

// RevisionHistory says what a rolling update is about.
type RevisionHistory struct {
	// FieldPaths are the fields of a parent, such as spec.template, whose change
	// is rolled out; a change elsewhere reaches all children at once. Absent and
	// empty mean spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	FieldPaths []string `json:"fieldPaths,omitempty"`
}

// CompositeChildRule names a resource that children may be of, and how they are updated.
type CompositeChildRule struct {
	ResourceRule `json:",inline"`
	// UpdateStrategy is OnDelete if absent.
	// +optional
	UpdateStrategy *ChildUpdateStrategy `json:"updateStrategy,omitempty"`

	ApplySettings `json:",inline"`
}

// CompositeHooks are the code of a CompositeController.
type CompositeHooks struct {
	// Sync says which children a parent has and what its status is. It is needed.
	// +optional
	Sync *Hook `json:"sync,omitempty"`
	// Finalize is called in place of sync for a parent that is being deleted or no
	// longer matches, which the definition's finalizer holds back until the answer
	// says finalized. Without it there is no finalizer.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`
	// Customize says which other objects the hooks of a parent want to see.
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

// Defined lists the hooks that are given and called, always in the same order.
func (h *CompositeHooks) Defined() []NamedHook {
	if h == nil {
		return nil
	}
	return definedHooks(NamedHook{SyncHook, h.Sync}, NamedHook{FinalizeHook, h.Finalize}, NamedHook{CustomizeHook, h.Customize})
}

// RevisionFields are the paths of the fields whose change is rolled out.
func (s *CompositeControllerSpec) RevisionFields() []string {
	if history := s.ParentResource.RevisionHistory; history != nil && len(history.FieldPaths) > 0 {
		return history.FieldPaths
	}
	return []string{"spec"}
}

// RevisionLimit is how many old revisions of a parent are kept.
func (s *CompositeControllerSpec) RevisionLimit() int {
	if s.RevisionHistoryLimit == nil {
		return DefaultRevisionHistoryLimit
	}
	return int(*s.RevisionHistoryLimit)
}

// UpdateMethod is the method in force, OnDelete unless another is given.
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
