package hooks

// CustomizeRequest is what the customize hook of any definition is given. Its answer
// should depend on nothing but the parent's spec, labels and annotations.
type CustomizeRequest struct {
	// Parent is the parent, or the object that is decorated.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	Origin
}

// CustomizeResponse is what the customize hook gives back.
type CustomizeResponse struct {
	// RelatedResources say which objects the other hooks are shown as related. An
	// object is shown if any of the rules asks for it.
	RelatedResources []RelatedResourceRule `json:"relatedResources,omitempty"`
}

// RelatedResourceRule asks for objects of a resource: by names, by namespace, or by
// selectors. Names go with no selector, and namespace with no namespaceSelector.
type RelatedResourceRule struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Resource is the plural in lower case, such as "configmaps".
	Resource string `json:"resource"`
	// LabelSelector asks for objects by their labels. Absent and empty mean all.
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceSelector asks for objects in namespaces by their labels. It needs
	// version v2 of the hook if the parent is in a namespace.
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespace asks for objects in one namespace. With version v1 of the hook it can
	// only be the parent's own, if it has one.
	Namespace string `json:"namespace,omitempty"`
	// Names asks for objects by name.
	Names []string `json:"names,omitempty"`
}

// LabelSelector selects by labels. All that it says has to hold; an empty one selects all.
type LabelSelector struct {
	// MatchLabels are labels that are there.
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions are further requirements.
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is what has to hold of one label.
type LabelSelectorRequirement struct {
	// Key is the label's key.
	Key string `json:"key"`
	// Operator says how the label is compared with the values.
	Operator string `json:"operator" typescript:"\"In\" | \"NotIn\" | \"Exists\" | \"DoesNotExist\""`
	// Values are for In and NotIn.
	Values []string `json:"values,omitempty"`
}
