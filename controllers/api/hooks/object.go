package hooks

// KubernetesObject is an object in the cluster, without its managedFields. Extend it with the
// spec and status of a kind.
type KubernetesObject struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind.
	Kind string `json:"kind"`
	// Metadata is the metadata of the object.
	Metadata ObjectMeta `json:"metadata"`
	// Fields are the kind's own.
	Fields map[string]any `json:",inline"`
}

// DesiredObject is a desired object. Fields that it omits keep their values in the cluster.
type DesiredObject struct {
	// APIVersion is the group and version, such as "v1" or "apps/v1".
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind. The definition must declare it.
	Kind string `json:"kind"`
	// Metadata is the metadata of the object.
	Metadata DesiredMeta `json:"metadata"`
	// Fields are the kind's own.
	Fields map[string]any `json:",inline"`
}

// DesiredMeta is the metadata of a desired object.
type DesiredMeta struct {
	// Name is the object's name.
	Name string `json:"name"`
	// Namespace is required if the parent is cluster-scoped and the kind is namespaced.
	// Otherwise it is the parent's own.
	Namespace string `json:"namespace,omitempty"`
	// Labels are set on the object.
	Labels map[string]string `json:"labels,omitempty" typescript:"{ [key: string]: string | undefined }"`
	// Annotations are set on the object. Null removes an annotation.
	Annotations map[string]*string `json:"annotations,omitempty" typescript:"{ [key: string]: string | null | undefined }"`
	// Finalizers must be removed before a deleted object is gone.
	Finalizers []string `json:"finalizers,omitempty"`
	// OwnerReferences are those of other owners. The host adds the parent's.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty"`
}

// ObjectMeta is the metadata of an object in the cluster.
type ObjectMeta struct {
	// Name is unique among the objects of the kind in the namespace.
	Name string `json:"name"`
	// Namespace is absent for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	// UID is unique over time.
	UID string `json:"uid"`
	// ResourceVersion changes with every change of the object.
	ResourceVersion string `json:"resourceVersion"`
	// Generation counts changes of the spec, for kinds that have one.
	Generation int64 `json:"generation,omitempty"`
	// CreationTimestamp is when the object was created, in RFC 3339.
	CreationTimestamp string `json:"creationTimestamp"`
	// DeletionTimestamp is set while the object is being deleted, in RFC 3339.
	DeletionTimestamp string `json:"deletionTimestamp,omitempty"`
	// DeletionGracePeriodSeconds is the time for a graceful deletion.
	DeletionGracePeriodSeconds int64 `json:"deletionGracePeriodSeconds,omitempty"`
	// Labels are matched by selectors.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are further metadata.
	Annotations map[string]string `json:"annotations,omitempty"`
	// OwnerReferences are the owners of the object.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty"`
	// Finalizers must be removed before a deleted object is gone.
	Finalizers []string `json:"finalizers,omitempty"`
	// GenerateName is the prefix of a name that the API server generated.
	GenerateName string `json:"generateName,omitempty"`
}

// OwnerReference is a reference to an owner of an object.
type OwnerReference struct {
	// APIVersion is the owner's group and version.
	APIVersion string `json:"apiVersion"`
	// Kind is the owner's kind.
	Kind string `json:"kind"`
	// Name is the owner's name.
	Name string `json:"name"`
	// UID is the owner's UID.
	UID string `json:"uid"`
	// Controller is true for the one owner that manages the object.
	Controller bool `json:"controller,omitempty"`
	// BlockOwnerDeletion keeps the owner until the object is gone, if it is deleted in the
	// foreground.
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
}

// Condition is a condition in an object's status.
type Condition struct {
	// Type is the type, unique among the object's conditions.
	Type string `json:"type"`
	// Status is "True", "False" or "Unknown".
	Status string `json:"status"`
	// Reason is a machine-readable word.
	Reason string `json:"reason,omitempty"`
	// Message is a human-readable text.
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the generation of the object that the condition is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastTransitionTime is when the status last changed, in RFC 3339.
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}
