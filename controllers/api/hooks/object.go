package hooks

// KubernetesObject is an object as the cluster has it, but for its managedFields. Extend it
// to say what spec and status of a kind are.
type KubernetesObject struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind.
	Kind string `json:"kind"`
	// Metadata is what all objects have.
	Metadata ObjectMeta `json:"metadata"`
	// Fields are the kind's own.
	Fields map[string]any `json:",inline"`
}

// DesiredObject is an object as a hook wants it. What it leaves out is left as it is in
// the cluster.
type DesiredObject struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind, one of those that the definition declares.
	Kind string `json:"kind"`
	// Metadata is what all objects have.
	Metadata DesiredMeta `json:"metadata"`
	// Fields are the kind's own.
	Fields map[string]any `json:",inline"`
}

// DesiredMeta is the metadata that a hook may want.
type DesiredMeta struct {
	// Name is the object's name.
	Name string `json:"name"`
	// Namespace is needed if the parent is in none and the kind is namespaced. Otherwise
	// it is the parent's own.
	Namespace string `json:"namespace,omitempty"`
	// Labels are set on the object.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are set on the object; null removes one.
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Finalizers hold the object back when it is deleted.
	Finalizers []string `json:"finalizers,omitempty"`
	// OwnerReferences are those of others; the host adds the parent's.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty"`
}

// ObjectMeta is the metadata of an object in the cluster.
type ObjectMeta struct {
	// Name is unique among the objects of the kind in the namespace.
	Name string `json:"name"`
	// Namespace is absent for objects that are in none.
	Namespace string `json:"namespace,omitempty"`
	// UID is unique for all time.
	UID string `json:"uid"`
	// ResourceVersion changes with the object.
	ResourceVersion string `json:"resourceVersion"`
	// Generation counts changes of the spec, for kinds that have one.
	Generation int64 `json:"generation,omitempty"`
	// CreationTimestamp is when the object was made, in RFC 3339.
	CreationTimestamp string `json:"creationTimestamp"`
	// DeletionTimestamp is there once the object is being deleted, in RFC 3339.
	DeletionTimestamp string `json:"deletionTimestamp,omitempty"`
	// DeletionGracePeriodSeconds is the time that it is given to end.
	DeletionGracePeriodSeconds int64 `json:"deletionGracePeriodSeconds,omitempty"`
	// Labels are what selectors look at.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are texts that nothing selects by.
	Annotations map[string]string `json:"annotations,omitempty"`
	// OwnerReferences are the objects that the object goes with.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty"`
	// Finalizers hold the object back when it is deleted.
	Finalizers []string `json:"finalizers,omitempty"`
	// GenerateName is what the name was made from, if the API server made it.
	GenerateName string `json:"generateName,omitempty"`
}

// OwnerReference points at an owner of an object.
type OwnerReference struct {
	// APIVersion is the owner's group and version.
	APIVersion string `json:"apiVersion"`
	// Kind is the owner's kind.
	Kind string `json:"kind"`
	// Name is the owner's name.
	Name string `json:"name"`
	// UID tells the owner from others that had its name.
	UID string `json:"uid"`
	// Controller is true for the one owner that manages the object.
	Controller bool `json:"controller,omitempty"`
	// BlockOwnerDeletion keeps the owner until the object is gone, when it is deleted in
	// the foreground.
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
}

// Condition is one of those in an object's status.
type Condition struct {
	// Type tells it from the object's other conditions.
	Type string `json:"type"`
	// Status is "True", "False" or "Unknown".
	Status string `json:"status"`
	// Reason is a word for programs.
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the generation of the object that it is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastTransitionTime is when the status last changed, in RFC 3339.
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}
