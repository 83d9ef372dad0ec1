package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRevision keeps how far a rolling update has come: what a parent looked like
// at one time and which children are still of that time. The host writes it; nobody else
// need. Its form is metacontroller's, so that an update begun there can be ended here.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controllerrevisions,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, request not yet submitted"
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// ParentPatch is the parent reduced to the fields that take part in rolling
	// updates (parentResource.revisionHistory.fieldPaths).
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ParentPatch runtime.RawExtension `json:"parentPatch"`
	// Children are the children that are of this revision, by kind.
	// +optional
	// +listType=atomic
	Children []ControllerRevisionChildren `json:"children,omitempty"`
}

// ControllerRevisionChildren are the children of one kind that are of a revision.
type ControllerRevisionChildren struct {
	// APIGroup of the children, empty for the core group.
	APIGroup string `json:"apiGroup"`
	// Kind of the children.
	Kind string `json:"kind"`
	// Names of the children: the name, or namespace/name where the parent is
	// cluster-scoped and the children are not.
	// +listType=atomic
	Names []string `json:"names"`
}

// ControllerRevisionList is a list of ControllerRevisions.
// +kubebuilder:object:root=true
type ControllerRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ControllerRevision `json:"items"`
}
