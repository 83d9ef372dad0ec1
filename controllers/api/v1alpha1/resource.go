package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResourceRule names a resource, custom, built-in or aggregated, as discovery lists it.
type ResourceRule struct {
	// APIVersion is <group>/<version>, or the version alone for the core group.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^(v[0-9][a-z0-9]*|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[a-z]([-a-z0-9]*[a-z0-9])?)$')",message="write <group>/<version>, such as apps/v1, or for the core group the version alone, such as v1"
	APIVersion string `json:"apiVersion"`
	// Resource is the lower-case plural, such as deployments.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="write the lower-case plural that kubectl api-resources shows, such as deployments"
	Resource string `json:"resource"`
}

// Names returns what identifies the resource in discovery.
func (r ResourceRule) Names() (apiVersion, resource string) { return r.APIVersion, r.Resource }

// ParentRule names the resource whose objects a definition looks after.
type ParentRule struct {
	ResourceRule `json:",inline"`
	// LabelSelector narrows the parents down to those whose labels match; absent
	// means all. A parent that has the definition's finalizer and stops matching
	// is finalized.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// IgnoreStatusChanges drops an update of a parent that changed neither its
	// generation, labels nor annotations and does not begin its deletion. Beware
	// of kinds without a generation, such as ConfigMap: their data then goes
	// unnoticed too. Absent means false.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// AnnotationSelector selects objects by annotations the way a label selector does by
// labels. All of its parts have to match. Values follow the syntax of label values.
type AnnotationSelector struct {
	// MatchAnnotations are annotations that an object must have, with just these values.
	// +optional
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`
	// MatchExpressions are requirements on single annotations.
	// +optional
	// +listType=atomic
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}
