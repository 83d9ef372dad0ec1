package hooks

// DecoratorRequest is the request of the sync and finalize hooks of a DecoratorController.
//
//hooks:sync,finalize
type DecoratorRequest struct {
	// Object is the decorated object, with its status.
	Object KubernetesObject `json:"object" typescript:"Target" parameter:"Target extends KubernetesObject = KubernetesObject"`
	// Attachments are the attachments of the object, in a group for each attachment
	// resource of the definition, even if it is empty. An attachment that is being
	// deleted is included until it is gone.
	Attachments ObjectGroups `json:"attachments" typescript:"ObjectGroups<Attachments>" parameter:"Attachments extends object = ObjectKinds"`
	RelatedRequestBase
	// Finalizing is true for the finalize hook.
	Finalizing bool `json:"finalizing"`
}

// DecoratorResponse is the response of the sync and finalize hooks of a DecoratorController.
type DecoratorResponse struct {
	// Labels are set on the object. Null removes a label; labels that are not listed
	// stay.
	Labels map[string]*string `json:"labels,omitempty"`
	// Annotations are set on the object. Null removes an annotation; annotations that
	// are not listed stay.
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Status is the whole status of the object. Absent or null leaves it unchanged.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	// Attachments are all desired attachments, each once. An attachment that is not
	// listed is deleted.
	Attachments []DesiredObject `json:"attachments" typescript:"Attachment[]" parameter:"Attachment extends TypedObject = DesiredObject"`
	// Waiting stands in place of attachments: the attachments stay as they are.
	// Webhooks have it with version v2.
	Waiting *Waiting `json:"waiting,omitempty" instead:"attachments"`
	ParentResponseBase
}
