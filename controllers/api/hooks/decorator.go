package hooks

// DecoratorRequest is what the sync hook of a DecoratorController is given, and the
// finalize hook in its place.
type DecoratorRequest struct {
	// Object is the object that is decorated, with its status.
	Object KubernetesObject `json:"object" typescript:"Target" parameter:"Target extends KubernetesObject = KubernetesObject"`
	// Attachments are what the definition has made for the object, in a group for each
	// of the definition's attachments, even if there are none of it. One that is being
	// deleted is among them until it is gone.
	Attachments ObjectGroups `json:"attachments" typescript:"ObjectGroups<Attachments>" parameter:"Attachments extends object = ObjectKinds"`
	Surroundings
	// Finalizing is true for the finalize hook.
	Finalizing bool `json:"finalizing"`
}

// DecoratorResponse is what the sync and finalize hooks of a DecoratorController give back.
type DecoratorResponse struct {
	// Labels are set on the object; null removes one, and those that are not listed
	// are left alone.
	Labels map[string]*string `json:"labels,omitempty"`
	// Annotations are set on the object; null removes one, and those that are not
	// listed are left alone.
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Status is the whole status of the object. Absent or null leaves it alone.
	Status *map[string]any `json:"status,omitempty" typescript:"Status | null" parameter:"Status = any"`
	// Attachments are all attachments that should exist, each once. One that is not
	// listed is deleted.
	Attachments []DesiredObject `json:"attachments"`
	Conclusion
}
