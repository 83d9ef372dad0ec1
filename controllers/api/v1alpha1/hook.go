package v1alpha1

// HookVersion is a version of the JSON of requests and responses.
type HookVersion string

const (
	// HookV1 keys objects relative to a namespaced parent: by name alone, and without
	// related objects outside of its namespace.
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

// HookBackend is a webhook or a script.
type HookBackend string

// The backends.
const (
	WebhookBackend HookBackend = "Webhook"
	ScriptBackend  HookBackend = "Script"
)

// Hook is the author's code, run by a webhook or as a script. If it has both, the script
// serves, unless it is the shadow.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) || has(self.script)",message="give the hook a webhook or a script; to turn it off, leave the whole hook out"
// +kubebuilder:validation:XValidation:rule="!(has(self.webhook) && has(self.script)) || has(self.fallback) || has(self.shadow)",message="with both webhook and script, say what the one that does not serve is there for: fallback: Webhook, shadow: Webhook or shadow: Script; or leave one of them out"
// +kubebuilder:validation:XValidation:rule="!(has(self.fallback) || has(self.shadow)) || (has(self.webhook) && has(self.script))",message="fallback and shadow are for a hook that has both webhook and script"
// +kubebuilder:validation:XValidation:rule="!(has(self.fallback) && has(self.shadow)) || self.shadow != 'Script'",message="with fallback: Webhook the script serves, and can't be the shadow: write shadow: Webhook",fieldPath=".shadow"
type Hook struct {
	// Version of the request: v1 keys objects relative to a namespaced parent and
	// has only objects of its namespace; v2 keys them by namespace/name and has all.
	// +optional
	// +kubebuilder:validation:Enum=v1;v2
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`
	// Webhook calls a server.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// Script runs in a worker process of the host.
	// +optional
	Script *Script `json:"script,omitempty"`
	// Fallback makes the script serve. The webhook answers in its place until the
	// script has loaded, and for each call that exceeds the script's timeout or a
	// limit. It is for a hook that has both.
	// +optional
	// +kubebuilder:validation:Enum=Webhook
	Fallback HookBackend `json:"fallback,omitempty"`
	// Shadow names the one that does not serve. It is sent the same request
	// afterwards; its answer is compared and never applied. It is for a hook that has
	// both.
	// +optional
	// +kubebuilder:validation:Enum=Webhook;Script
	Shadow HookBackend `json:"shadow,omitempty"`
}

// WireVersion returns the version, v1 by default.
func (h *Hook) WireVersion() HookVersion {
	if h.Version == "" {
		return HookV1
	}
	return h.Version
}

// Serving returns the backend whose answers are applied, or "" if there is none.
func (h *Hook) Serving() HookBackend {
	switch {
	case h.Script != nil && (h.Webhook == nil || h.Shadow != ScriptBackend):
		return ScriptBackend
	case h.Webhook != nil:
		return WebhookBackend
	default:
		return ""
	}
}

// IsPreviewable reports whether the webhook serves and may be called for its answer alone.
func (h *Hook) IsPreviewable() bool {
	return h.Serving() == WebhookBackend && h.Webhook.SideEffects == SideEffectClassNone
}

// MapHook is a hook of a MapController. Unlike other hooks it has no version v1.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) || has(self.script)",message="give the hook a webhook or a script; to turn it off, leave the whole hook out"
// +kubebuilder:validation:XValidation:rule="!(has(self.webhook) && has(self.script)) || has(self.fallback) || has(self.shadow)",message="with both webhook and script, say what the one that does not serve is there for: fallback: Webhook, shadow: Webhook or shadow: Script; or leave one of them out"
// +kubebuilder:validation:XValidation:rule="!(has(self.fallback) || has(self.shadow)) || (has(self.webhook) && has(self.script))",message="fallback and shadow are for a hook that has both webhook and script"
// +kubebuilder:validation:XValidation:rule="!(has(self.fallback) && has(self.shadow)) || self.shadow != 'Script'",message="with fallback: Webhook the script serves, and can't be the shadow: write shadow: Webhook",fieldPath=".shadow"
type MapHook struct {
	// Version of the request. Only v2 exists: objects are keyed by namespace/name.
	// +optional
	// +kubebuilder:validation:Enum=v2
	// +kubebuilder:default=v2
	Version HookVersion `json:"version,omitempty"`
	// Webhook calls a server.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`
	// Script runs in a worker process of the host.
	// +optional
	Script *Script `json:"script,omitempty"`
	// Fallback makes the script serve. The webhook answers in its place until the
	// script has loaded, and for each call that exceeds the script's timeout or a
	// limit. It is for a hook that has both.
	// +optional
	// +kubebuilder:validation:Enum=Webhook
	Fallback HookBackend `json:"fallback,omitempty"`
	// Shadow names the one that does not serve. It is sent the same request
	// afterwards; its answer is compared and never applied. It is for a hook that has
	// both.
	// +optional
	// +kubebuilder:validation:Enum=Webhook;Script
	Shadow HookBackend `json:"shadow,omitempty"`
}

// Hook returns the same hook as a Hook, or nil for nil.
func (m *MapHook) Hook() *Hook {
	if m == nil {
		return nil
	}
	return &Hook{Version: HookV2, Webhook: m.Webhook, Script: m.Script, Fallback: m.Fallback, Shadow: m.Shadow}
}

// NamedHook is a hook and its name.
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
