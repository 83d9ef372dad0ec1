package v1alpha1

// RelativePath is a slash-separated path below a root, which depends on the field. It can't
// leave that root.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="!self.startsWith('/')",message="must be relative: leave the / at its start out"
// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.](/|$)')",message="must stay below its root: write it without .."
type RelativePath string

// ScriptSource adds files to the module tree of a definition. All sources of a
// definition make up one tree, shared by its hooks; two files at one path are an error.
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.directory), has(self.flux)].exists_one(given, given)",message="give exactly one of configMap, directory and flux; add another entry for a second source"
type ScriptSource struct {
	// ConfigMap adds its keys as files.
	// +optional
	ConfigMap *ScriptConfigMap `json:"configMap,omitempty"`
	// Directory adds the files of a directory of the host.
	// +optional
	Directory *ScriptDirectory `json:"directory,omitempty"`
	// Flux adds the files of an artifact that Flux has made: of a Git repository, an OCI
	// artifact or a bucket.
	// +optional
	Flux *ScriptFlux `json:"flux,omitempty"`
}

// ScriptConfigMap is a ConfigMap whose keys are files. It is watched: a change takes effect
// at once.
type ScriptConfigMap struct {
	// Namespace of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Items are the keys to use and their paths. Defaults to all keys, with the key
	// as path.
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=path
	Items []ScriptItem `json:"items,omitempty"`
	// Prefix is a folder that contains all paths of this source, including those of
	// items.
	// +optional
	Prefix RelativePath `json:"prefix,omitempty"`
}

// ScriptItem is one key of a ConfigMap and its path in the tree.
type ScriptItem struct {
	// Key of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// Path of the file, folders included.
	Path RelativePath `json:"path"`
}

// ScriptDirectory is a directory of the host, usually a volume. It is watched: a change takes
// effect at once.
type ScriptDirectory struct {
	// Path is below the host's --scripts-dir; a dot means that directory itself.
	Path RelativePath `json:"path"`
}

// ScriptFlux is an object of the API group source.toolkit.fluxcd.io/v1 whose artifact has the
// files. It is watched: a new artifact takes effect at once.
type ScriptFlux struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	Kind string `json:"kind"`
	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Path is a folder in the artifact: the files below it are used, by their paths below
	// it. Defaults to all files.
	// +optional
	Path RelativePath `json:"path,omitempty"`
	// Prefix is a folder that contains all paths of this source.
	// +optional
	Prefix RelativePath `json:"prefix,omitempty"`
}
