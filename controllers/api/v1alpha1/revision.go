package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRevision stores a former or present state of a parent and the children that are
// of this state. Only the host writes it. It has the form of metacontroller's, so that
// either can continue a rolling update that the other has started.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controllerrevisions,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, request not yet submitted"
type ControllerRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// ParentPatch is the parent with only the fields whose change is rolled out
	// (parentResource.revisionHistory.fieldPaths).
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
