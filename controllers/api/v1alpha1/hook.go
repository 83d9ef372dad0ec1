package v1alpha1

// HookVersion is a version of the JSON that a hook is given and gives back.
type HookVersion string

const (
	// HookV1 keys objects relative to a namespaced parent: by name alone, and
	// related objects outside of its namespace are not seen.
	HookV1 HookVersion = "v1"
	// HookV2 keys every namespaced object by namespace/name.
	HookV2 HookVersion = "v2"
)

// HookName is the name of a hook, as definitions, metrics and errors spell it.
type HookName string

// The hooks that are called.
const (
	SyncHook      HookName = "sync"
	FinalizeHook  HookName = "finalize"
	CustomizeHook HookName = "customize"
	MapHookName   HookName = "map"
	TombstoneHook HookName = "tombstone"
)

// Hook is code of the author's own, run by a webhook or as a script.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.script)",message="give the hook exactly one of webhook and script; to turn it off, leave the whole hook out"
type Hook struct {
	// Version of the request: v1 keys objects relative to a namespaced parent and
	// keeps to its namespace; v2 keys them by namespace/name and sees all.
	// +optional
	// +kubebuilder:validation:Enum=v1;v2
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`
	// Webhook calls a server.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// Script runs in the host, in a sandbox.
	// +optional
	Script *Script `json:"script,omitempty"`
}

// WireVersion is the version in force: v1 unless another is given.
func (h *Hook) WireVersion() HookVersion {
	if h.Version == "" {
		return HookV1
	}
	return h.Version
}

// MapHook is a hook of a MapController. It differs from other hooks in that there is no
// version v1 of it.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.script)",message="give the hook exactly one of webhook and script; to turn it off, leave the whole hook out"
type MapHook struct {
	// Version of the request. Only v2 exists: objects are keyed by namespace/name.
	// +optional
	// +kubebuilder:validation:Enum=v2
	// +kubebuilder:default=v2
	Version HookVersion `json:"version,omitempty"`
	// Webhook calls a server.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// Script runs in the host, in a sandbox.
	// +optional
	Script *Script `json:"script,omitempty"`
}

// Hook is the same hook in the form that all definitions share, and nil for nil.
func (m *MapHook) Hook() *Hook {
	if m == nil {
		return nil
	}
	return &Hook{Version: HookV2, Webhook: m.Webhook, Script: m.Script}
}

// NamedHook is a hook and what it is there for.
type NamedHook struct {
	Name HookName
	Hook *Hook
}

func definedHooks(all ...NamedHook) []NamedHook {
	var defined []NamedHook
	for _, named := range all {
		if named.Hook != nil {
			defined = append(defined, named)
		}
	}
	return defined
}
