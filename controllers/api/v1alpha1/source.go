package v1alpha1

// RelativePath is a slash-separated path below a root that is plain from the field. It
// can't leave that root.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="!self.startsWith('/')",message="must be relative: leave the / at its start out"
// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.](/|$)')",message="must stay below its root: write it without .."
type RelativePath string

// ScriptSource adds files to the module tree of a definition. All sources of a
// definition make up one tree, shared by its hooks; two files at one path are an error.
// +kubebuilder:validation:XValidation:rule="has(self.configMap) != has(self.directory)",message="give exactly one of configMap and directory; add another entry for a second source"
type ScriptSource struct {
	// ConfigMap gives its keys as files.
	// +optional
	ConfigMap *ScriptConfigMap `json:"configMap,omitempty"`
	// Directory gives the files of a directory of the host's.
	// +optional
	Directory *ScriptDirectory `json:"directory,omitempty"`
}

// ScriptConfigMap is a ConfigMap whose keys are files. It is watched; an edit takes
// effect at once.
type ScriptConfigMap struct {
	// Namespace of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Items are the keys to take and their paths. Absent means every key, with
	// the key as its path.
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=path
	Items []ScriptItem `json:"items,omitempty"`
	// Prefix is a folder that all paths of this source are put below, those of
	// items too.
	// +optional
	Prefix RelativePath `json:"prefix,omitempty"`
}

// ScriptItem is one key of a ConfigMap and where it goes in the tree.
type ScriptItem struct {
	// Key of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// Path of the file, folders included.
	Path RelativePath `json:"path"`
}

// ScriptDirectory is a directory of the host's, commonly a volume. It is watched; an
// edit takes effect at once.
type ScriptDirectory struct {
	// Path is below the host's --scripts-dir; a dot means that directory itself.
	Path RelativePath `json:"path"`
}
