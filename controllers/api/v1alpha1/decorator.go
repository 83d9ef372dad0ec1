package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DecoratorController defines a controller that adds attachments, labels, annotations or
// status to objects that it does not own.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=decoratorcontrollers,scope=Cluster,shortName=dec;decorators,categories=libretto
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
type DecoratorController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the controller does.
	Spec DecoratorControllerSpec `json:"spec"`
	// Status is the last observed state of the controller. Its parents are the decorated
	// objects.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DefinitionStatus `json:"status,omitzero"`
}

// DecoratorControllerSpec is what a DecoratorController does.
// +kubebuilder:validation:XValidation:rule="has(self.hooks) && (has(self.hooks.sync) || has(self.hooks.finalize))",message="hooks.sync is needed: it says what is attached to an object; hooks.finalize alone will do where there is only something to clean up"
// +kubebuilder:validation:XValidation:rule="(has(self.scriptSources) && self.scriptSources.size() > 0) || !has(self.hooks) || !((has(self.hooks.sync) && has(self.hooks.sync.script) && has(self.hooks.sync.script.path)) || (has(self.hooks.finalize) && has(self.hooks.finalize.script) && has(self.hooks.finalize.script.path)) || (has(self.hooks.customize) && has(self.hooks.customize.script) && has(self.hooks.customize.script.path)))",message="a script given by path comes from scriptSources, and there is no source: add one, or write the script as inline",fieldPath=".scriptSources"
// +kubebuilder:validation:XValidation:rule="!has(self.attachments) || self.attachments.all(r, !has(r.forceConflicts) || (has(r.applyStrategy) ? r.applyStrategy == 'ServerSideApply' : has(self.applyStrategy) && self.applyStrategy == 'ServerSideApply'))",message="forceConflicts is for server-side apply: set applyStrategy to ServerSideApply on the same rule or on spec, or leave it out",fieldPath=".attachments"
type DecoratorControllerSpec struct {
	// Resources are the resources whose objects are decorated. If there are several
	// entries for one kind, an object is decorated if any of them selects it.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Resources []DecoratorTargetRule `json:"resources"`
	// Attachments are the resources that attachments may be of, each in one version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.apiVersion == b.apiVersion && a.resource == b.resource))",message="a resource is listed twice: leave one entry for it"
	Attachments []DecoratorAttachmentRule `json:"attachments,omitempty"`
	// Hooks are the code of the controller.
	// +optional
	Hooks *DecoratorHooks `json:"hooks,omitempty"`

	DefinitionSettings `json:",inline"`
}

// DecoratorTargetRule names a resource whose objects are decorated.
type DecoratorTargetRule struct {
	ParentRule `json:",inline"`
	// AnnotationSelector selects objects by annotations, in addition to
	// labelSelector. Defaults to all.
	// +optional
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`
}

// DecoratorAttachmentRule names a resource that attachments may be of, and how they are
// updated.
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Orphan' || !has(self.updateStrategy) || !has(self.updateStrategy.method) || !(self.updateStrategy.method in ['Recreate', 'RollingRecreate'])",message="deletionPolicy Orphan deletes nothing, and this updateStrategy does: choose InPlace, or Delete"
type DecoratorAttachmentRule struct {
	ResourceRule `json:",inline"`
	// UpdateStrategy defaults to OnDelete.
	// +optional
	UpdateStrategy *AttachmentUpdateStrategy `json:"updateStrategy,omitempty"`

	ApplySettings `json:",inline"`
}

// DecoratorHooks are the code of a DecoratorController. At least one of sync and
// finalize is required.
type DecoratorHooks struct {
	// Sync returns the attachments of an object and the labels, annotations and
	// status to set on it. Without it matching objects are left alone.
	// +optional
	Sync *Hook `json:"sync,omitempty"`
	// Finalize is called in place of sync for an object that is being deleted or no
	// longer matches. The definition's finalizer stays on the object until the
	// answer has finalized: true. Without this hook there is no finalizer.
	// +optional
	Finalize *Hook `json:"finalize,omitempty"`
	// Customize selects related objects that the other hooks of an object are sent.
	// +optional
	Customize *Hook `json:"customize,omitempty"`
}

// Defined returns the hooks that are given, always in the same order.
func (h *DecoratorHooks) Defined() []NamedHook {
	if h == nil {
		return nil
	}
	return definedHooks(NamedHook{SyncHook, h.Sync}, NamedHook{FinalizeHook, h.Finalize}, NamedHook{CustomizeHook, h.Customize})
}

// UpdateMethod returns the method, never a rolling one, OnDelete by default.
func (r *DecoratorAttachmentRule) UpdateMethod() ChildUpdateMethod {
	if r.UpdateStrategy == nil {
		return ChildUpdateOnDelete
	}
	return r.UpdateStrategy.Method.WithoutRolling()
}

// DecoratorControllerList is a list of DecoratorControllers.
// +kubebuilder:object:root=true
type DecoratorControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DecoratorController `json:"items"`
}
