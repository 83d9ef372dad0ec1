package hooks

// CompositeRequest is the request of the sync and finalize hooks of a CompositeController.
//
//hooks:sync,finalize
type CompositeRequest struct {
	// Parent is the parent, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Children are the parent's children, in a group for each child resource of the
	// definition, even if it is empty. A child that is being deleted is included until
	// it is gone.
	Children ObjectGroups `json:"children" typescript:"ObjectGroups<Children>" parameter:"Children extends object = ObjectKinds"`
	RelatedRequestBase
	// Finalizing is true for the finalize hook.
	Finalizing bool `json:"finalizing"`
}

// CompositeResponse is the response of the sync and finalize hooks of a CompositeController.
type CompositeResponse struct {
	// Status is the whole status of the parent. Defaults to an empty one. The host adds
	// observedGeneration.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	// Children are all desired children, each once. A child that is not listed is
	// deleted.
	Children []DesiredObject `json:"children" typescript:"Child[]" parameter:"Child extends TypedObject = DesiredObject"`
	// Waiting stands in place of children: the children stay as they are.
	// Webhooks have it with version v2.
	Waiting *Waiting `json:"waiting,omitempty" instead:"children"`
	ParentResponseBase
}
