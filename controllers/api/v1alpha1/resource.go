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

// RelatedResourceRule names objects that a customize hook may ask for. It has the fields of
// the hook's own rules. What is left out is not restricted. With nameFrom it selects related
// objects itself.
// +kubebuilder:validation:XValidation:rule="!has(self.names) || !(has(self.labelSelector) || has(self.namespaceSelector))",message="names can't be combined with labelSelector or namespaceSelector: write two entries",fieldPath=".names"
// +kubebuilder:validation:XValidation:rule="!(has(self.namespace) && has(self.namespaceSelector))",message="namespace can't be combined with namespaceSelector: leave one of them out",fieldPath=".namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.nameFrom) || !(has(self.names) || has(self.labelSelector) || has(self.namespaceSelector))",message="nameFrom can't be combined with names or selectors: write two entries",fieldPath=".nameFrom"
type RelatedResourceRule struct {
	ResourceRule `json:",inline"`
	// LabelSelector selects objects by labels. The hooks are sent no object that it does
	// not match, whatever the customize hook asks for. Defaults to all.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// Namespace is the one that the hook has to ask for, and defaults to any. With nameFrom
	// it is that of the objects, and defaults to the parent's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// NamespaceSelector selects namespaces by their labels. The hooks are sent no object
	// of another one. Defaults to all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Names are those that the hook may ask for. Defaults to any, and to all objects.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// NameFrom is where a parent has the names of related objects: the hooks are sent those,
	// with or without a customize hook. The entry permits that hook nothing.
	// +optional
	NameFrom *NameSource `json:"nameFrom,omitempty"`
}

// NameSource is where names of objects are in a parent.
type NameSource struct {
	// FieldPath is the path of the names, such as spec.secretName,
	// spec.imagePullSecrets[*].name or metadata.annotations['example.com/secret']. Nothing
	// there, or an empty string, names nothing.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][-A-Za-z0-9_]*([.][A-Za-z_][-A-Za-z0-9_]*|[[][*][]]|[[]\\'[^\\']+\\'[]])*$')",message="must be the path of a field, such as spec.secretName, spec.imagePullSecrets[*].name or metadata.annotations['example.com/secret']"
	FieldPath string `json:"fieldPath"`
}

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
