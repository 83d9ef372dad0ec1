package hooks

// MapRequest is the request of the map hook of a MapController, one for each input.
//
//hooks:map
type MapRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Input is the input.
	Input KubernetesObject `json:"input" typescript:"Input" parameter:"Input extends KubernetesObject = KubernetesObject"`
	InputOutputs
	RelatedRequestBase
}

// TombstoneRequest is the request of the tombstone hook of a MapController, one for each
// input that is gone and has outputs.
//
//hooks:tombstone
type TombstoneRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	InputOutputs
	RelatedRequestBase
}

// InputOutputs are the key of an input and its outputs.
type InputOutputs struct {
	// MapKey identifies the input: group/Kind/namespace/name, each part empty if there
	// is none.
	MapKey string `json:"mapKey"`
	// Outputs are the outputs of the input, in a group for each output resource of the
	// definition, even if it is empty. Keys are namespace/name.
	Outputs ObjectGroups `json:"outputs" typescript:"ObjectGroups<Outputs>" parameter:"Outputs extends object = ObjectKinds"`
}

// MapResponse is the response of the map hook.
type MapResponse struct {
	// Outputs are all desired outputs of the input, each once. An output that is not
	// listed is deleted.
	Outputs []DesiredObject `json:"outputs" typescript:"Output[]" parameter:"Output extends TypedObject = DesiredObject"`
	// Waiting stands in place of outputs: those of the input stay as they are.
	// Webhooks have it with version v2.
	Waiting *Waiting `json:"waiting,omitempty" instead:"outputs"`
	ResponseBase
}

// TombstoneResponse is the response of the tombstone hook.
type TombstoneResponse struct {
	// Outputs are the outputs of the request to keep. They can't be changed.
	Outputs []DesiredObject `json:"outputs"`
	// Waiting stands in place of outputs: those of the request stay as they are.
	// Webhooks have it with version v2.
	Waiting *Waiting `json:"waiting,omitempty" instead:"outputs"`
	ResponseBase
}

// MapFinalizeRequest is the request of the finalize hook of a MapController, one for all
// outputs of a parent.
//
//hooks:finalize
type MapFinalizeRequest struct {
	// Parent is the object that owns the outputs, with its status.
	Parent KubernetesObject `json:"parent" typescript:"Parent" parameter:"Parent extends KubernetesObject = KubernetesObject"`
	// Outputs are the parent's outputs, in a group for each output resource of the
	// definition, even if it is empty. Keys are namespace/name.
	Outputs ObjectGroups `json:"outputs" typescript:"ObjectGroups<Outputs>" parameter:"Outputs extends object = ObjectKinds"`
	RelatedRequestBase
	// Finalizing is true.
	Finalizing bool `json:"finalizing" typescript:"true"`
}

// MapFinalizeResponse is the response of the finalize hook of a MapController.
type MapFinalizeResponse struct {
	// Outputs are all outputs to keep, each once. An output that is not listed is
	// deleted.
	Outputs []DesiredObject `json:"outputs"`
	// Waiting stands in place of outputs: all outputs stay as they are.
	// Webhooks have it with version v2.
	Waiting *Waiting `json:"waiting,omitempty" instead:"outputs"`
	// Status is merged into the parent's status, to which the host adds its counters.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	ParentResponseBase
}
