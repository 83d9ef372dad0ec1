package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MapController defines a controller that makes outputs, owned by a parent, out of each
// input object that the parent selects and does not own.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=mapcontrollers,scope=Cluster,shortName=mc;mctl,categories=libretto
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
type MapController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the controller does.
	Spec MapControllerSpec `json:"spec"`
	// Status is the last observed state of the controller.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DefinitionStatus `json:"status,omitzero"`
}

// MapControllerSpec is what a MapController does.
// +kubebuilder:validation:XValidation:rule="has(self.hooks) && has(self.hooks.map)",message="hooks.map is needed: it says which outputs an input has"
// +kubebuilder:validation:XValidation:rule="(has(self.scriptSources) && self.scriptSources.size() > 0) || !has(self.hooks) || !((has(self.hooks.map) && has(self.hooks.map.script) && has(self.hooks.map.script.path)) || (has(self.hooks.tombstone) && has(self.hooks.tombstone.script) && has(self.hooks.tombstone.script.path)) || (has(self.hooks.finalize) && has(self.hooks.finalize.script) && has(self.hooks.finalize.script.path)) || (has(self.hooks.customize) && has(self.hooks.customize.script) && has(self.hooks.customize.script.path)))",message="a script given by path comes from scriptSources, and there is no source: add one, or write the script as inline",fieldPath=".scriptSources"
// +kubebuilder:validation:XValidation:rule="!has(self.outputResources) || self.outputResources.all(r, !has(r.forceConflicts) || (has(r.applyStrategy) ? r.applyStrategy == 'ServerSideApply' : has(self.applyStrategy) && self.applyStrategy == 'ServerSideApply'))",message="forceConflicts is for server-side apply: set applyStrategy to ServerSideApply on the same rule or on spec, or leave it out",fieldPath=".outputResources"
type MapControllerSpec struct {
	// ParentResource is the resource whose objects own the outputs. A parent's
	// spec.selector selects its inputs; it defaults to all.
	ParentResource ParentRule `json:"parentResource"`
	// InputResources are the resources whose objects are inputs, each object by
	// itself. Objects that the parent owns are not among them.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.apiVersion == b.apiVersion && a.resource == b.resource))",message="a resource is listed twice: put what selects its objects into one entry"
	InputResources []MapInputRule `json:"inputResources"`
	// OutputResources are the resources that outputs may be of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.apiVersion == b.apiVersion && a.resource == b.resource))",message="a resource is listed twice: leave one entry for it"
	OutputResources []MapOutputRule `json:"outputResources,omitempty"`
	// Hooks are the code of the controller.
	// +optional
	Hooks *MapHooks `json:"hooks,omitempty"`

	DefinitionSettings `json:",inline"`
}

// MapInputRule names a resource whose objects are inputs. Inputs of a namespaced parent
// are in its own namespace.
type MapInputRule struct {
	ResourceRule `json:",inline"`
	// LabelSelector selects inputs for all parents, in addition to a parent's
	// spec.selector. Defaults to all.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceSelector selects the namespaces with inputs of cluster-scoped
	// parents by their labels. Defaults to all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// MapOutputRule names a resource that outputs may be of, and how they are updated.
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Orphan' || !has(self.updateStrategy) || !has(self.updateStrategy.method) || !(self.updateStrategy.method in ['Recreate', 'RollingRecreate'])",message="deletionPolicy Orphan deletes nothing, and this updateStrategy does: choose InPlace, or Delete"
type MapOutputRule struct {
	ResourceRule `json:",inline"`
	// UpdateStrategy defaults to OnDelete.
	// +optional
	UpdateStrategy *OutputUpdateStrategy `json:"updateStrategy,omitempty"`

	ApplySettings `json:",inline"`
}

// MapHooks are the code of a MapController.
type MapHooks struct {
	// Map returns the outputs of an input. It is required.
	// +optional
	Map *MapHook `json:"map,omitempty"`
	// Tombstone returns the outputs to keep of an input that is gone. It is called when
	// the input disappears and at every resync. Without it they are deleted.
	// +optional
	Tombstone *MapHook `json:"tombstone,omitempty"`
	// Finalize is called for a parent that is being deleted or no longer matches. The
	// definition's finalizer stays on the parent until the answer has finalized: true.
	// Without this hook there is no finalizer.
	// +optional
	Finalize *MapHook `json:"finalize,omitempty"`
	// Customize selects related objects that the other hooks of a parent are sent.
	// +optional
	Customize *MapHook `json:"customize,omitempty"`
}

// Defined returns the hooks that are given, always in the same order.
func (h *MapHooks) Defined() []NamedHook {
	if h == nil {
		return nil
	}
	return definedHooks(
		NamedHook{MapHookName, h.Map.Hook()}, NamedHook{TombstoneHook, h.Tombstone.Hook()},
		NamedHook{FinalizeHook, h.Finalize.Hook()}, NamedHook{CustomizeHook, h.Customize.Hook()},
	)
}

// UpdateMethod returns the method, OnDelete by default.
func (r *MapOutputRule) UpdateMethod() ChildUpdateMethod {
	if r.UpdateStrategy == nil {
		return ChildUpdateOnDelete
	}
	return r.UpdateStrategy.Method.WithoutRolling()
}

// MapControllerList is a list of MapControllers.
// +kubebuilder:object:root=true
type MapControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MapController `json:"items"`
}
