package hooks

// CustomizeRequest is the request of the customize hook of any definition. The response
// should depend only on the parent's spec, labels and annotations.
//
//hooks:customize
type CustomizeRequest struct {
	// Parent is the parent, or the object that is decorated.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	RequestBase
}

// CustomizeResponse is the response of the customize hook.
type CustomizeResponse struct {
	// RelatedResources select the related objects in the requests of the other hooks. An
	// object is included if any of the rules selects it. A parent may have 100 different
	// rules, for what spec.relatedResources of the definition declares, if it has that.
	RelatedResources []RelatedResourceRule `json:"relatedResources,omitempty"`
}

// RelatedResourceRule selects objects of a resource: by names, by namespace, or by
// selectors. Names exclude selectors, and namespace excludes namespaceSelector.
type RelatedResourceRule struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Resource is the plural in lower case, such as "configmaps".
	Resource string `json:"resource"`
	// LabelSelector selects objects by their labels. Defaults to all.
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceSelector selects namespaces by their labels. It needs version v2 of the
	// hook if the parent is in a namespace.
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespace selects objects in one namespace. With version v1 of the hook it must be
	// the parent's own, if it has one.
	Namespace string `json:"namespace,omitempty"`
	// Names selects objects by name.
	Names []string `json:"names,omitempty"`
}

// LabelSelector selects by labels. All requirements must hold; an empty one selects all.
type LabelSelector struct {
	// MatchLabels are required labels and their values.
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions are further requirements.
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is a requirement on one label.
type LabelSelectorRequirement struct {
	// Key is the label's key.
	Key string `json:"key"`
	// Operator is how the label is compared with the values.
	Operator string `json:"operator" typescript:"\"In\" | \"NotIn\" | \"Exists\" | \"DoesNotExist\""`
	// Values are for In and NotIn.
	Values []string `json:"values,omitempty"`
}
