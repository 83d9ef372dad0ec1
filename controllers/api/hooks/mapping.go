package hooks

// MapRequest is what the map hook of a MapController is given: one call for each input.
type MapRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Input is the object to make outputs of.
	Input KubernetesObject `json:"input" typescript:"Input" parameter:"Input extends KubernetesObject = KubernetesObject"`
	InputOutputs
	Surroundings
}

// TombstoneRequest is what the tombstone hook of a MapController is given: one call for
// each input that is gone and has outputs.
type TombstoneRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	InputOutputs
	Surroundings
}

// InputOutputs are an input's name and what was made of it.
type InputOutputs struct {
	// MapKey identifies the input: group/Kind/namespace/name, each part empty if there
	// is none.
	MapKey string `json:"mapKey"`
	// Outputs are the outputs of the input, in a group for each of the definition's
	// output resources, even if there are none of it. Keys are namespace/name.
	Outputs ObjectGroups `json:"outputs" typescript:"ObjectGroups<Outputs>" parameter:"Outputs extends object = ObjectKinds"`
}

// MapResponse is what the map hook gives back.
type MapResponse struct {
	// Outputs are all outputs that the input should have, each once. One that is not
	// listed is deleted.
	Outputs []DesiredObject `json:"outputs"`
	Resync
}

// TombstoneResponse is what the tombstone hook gives back.
type TombstoneResponse struct {
	// Outputs are those of the request's that are kept. They can't be edited.
	Outputs []DesiredObject `json:"outputs"`
	Resync
}

// MapFinalizeRequest is what the finalize hook of a MapController is given: one call about
// all outputs of a parent.
type MapFinalizeRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Outputs are the parent's outputs, in a group for each of the definition's output
	// resources, even if there are none of it. Keys are namespace/name.
	Outputs ObjectGroups `json:"outputs" typescript:"ObjectGroups<Outputs>" parameter:"Outputs extends object = ObjectKinds"`
	Surroundings
	// Finalizing is true.
	Finalizing bool `json:"finalizing" typescript:"true"`
}

// MapFinalizeResponse is what the finalize hook of a MapController gives back.
type MapFinalizeResponse struct {
	// Outputs are all outputs that should still exist, each once. One that is not
	// listed is deleted.
	Outputs []DesiredObject `json:"outputs"`
	// Status is merged into what the host itself says in the parent's status.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	Conclusion
}
