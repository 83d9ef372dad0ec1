package hooks

// CompositeRequest is what the sync hook of a CompositeController is given, and the
// finalize hook in its place.
type CompositeRequest struct {
	// Parent is the object that the hook is about, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Children are the parent's children, in a group for each of the definition's child
	// resources, even if there are none of it. One that is being deleted is among them
	// until it is gone.
	Children ObjectGroups `json:"children" typescript:"ObjectGroups<Children>" parameter:"Children extends object = ObjectKinds"`
	Surroundings
	// Finalizing is true for the finalize hook.
	Finalizing bool `json:"finalizing"`
}

// CompositeResponse is what the sync and finalize hooks of a CompositeController give back.
type CompositeResponse struct {
	// Status is the whole status of the parent. Absent empties it. The host adds
	// observedGeneration.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	// Children are all children that should exist, each once. One that is not listed
	// is deleted.
	Children []DesiredObject `json:"children"`
	Conclusion
}
