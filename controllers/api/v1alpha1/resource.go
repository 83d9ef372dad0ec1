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

// ParentRule selects the parents of a definition.
type ParentRule struct {
	ResourceRule `json:",inline"`
	// LabelSelector selects the parents by labels. Defaults to all. A parent that has
	// the definition's finalizer and no longer matches is finalized.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// IgnoreStatusChanges drops updates of a parent that change neither generation,
	// labels nor annotations and do not start its deletion. For kinds without a
	// generation, such as ConfigMap, this also drops changes of their data. Defaults
	// to false.
	// +optional
	IgnoreStatusChanges *bool `json:"ignoreStatusChanges,omitempty"`
}

// AnnotationSelector selects objects by annotations, as a label selector does by labels.
// All of its parts must match. Values follow the syntax of label values.
type AnnotationSelector struct {
	// MatchAnnotations are annotations that an object must have, with exactly these values.
	// +optional
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`
	// MatchExpressions are requirements on single annotations.
	// +optional
	// +listType=atomic
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}
