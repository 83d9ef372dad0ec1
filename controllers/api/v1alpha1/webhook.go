package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultWebhookTimeout is the timeout of a webhook whose definition sets no positive one.
const DefaultWebhookTimeout = 10 * time.Second

// Webhook is a server that answers a hook's request, sent by HTTP POST as JSON.
// +kubebuilder:validation:XValidation:rule="has(self.url) || (has(self.service) && has(self.path))",message="say where to call: give url, or both service and path"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.path) || self.path.size() == 0 || self.path.startsWith('/')",message="path must start with /, because it follows the service's host and port as it stands",fieldPath=".path"
type Webhook struct {
	// URL is the complete address. It takes precedence over service and path.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(?i:https?)://[^/]')",message="write the complete address, starting with http:// or https://"
	URL *string `json:"url,omitempty"`
	// Service is called by its cluster DNS name, at path, if there is no url.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`
	// Path follows the service's host and port. It starts with /.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Path *string `json:"path,omitempty"`
	// Timeout of one call, such as 10s or 1m30s. Defaults to 10s, which zero and
	// negative values mean too.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",message="must be a duration such as 500ms, 10s or 1m30s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Etag caches answers, so that the server need not send an unchanged one again.
	// +optional
	Etag *WebhookEtag `json:"etag,omitempty"`
	// ResponseUnMarshallMode is how an answer with unknown or duplicate fields is
	// read: loose ignores them, strict refuses the answer. With loose written out an
	// answer may also omit the list of children, which then means none. Defaults to
	// loose for version v1 and to strict for v2, and then the list is required.
	// +optional
	// +kubebuilder:validation:Enum=loose;strict
	ResponseUnMarshallMode *ResponseUnmarshalMode `json:"responseUnMarshallMode,omitempty"`
	// SideEffects says what a call does besides answering. With None the server is also
	// called for previews: an edit of the definition does not take over until the new
	// server has answered for a sample of the parents. By default it is unknown, and
	// previews do not call the server.
	// +optional
	// +kubebuilder:validation:Enum=None
	SideEffects SideEffectClass `json:"sideEffects,omitempty"`
	// Credentials of this webhook. If it has any of the four, endpointConfigs is
	// ignored.
	Credentials `json:",inline"`
}

// Address returns the URL to call: url if it is given, else that of service and path, else "".
func (w *Webhook) Address() string {
	switch {
	case w.URL != nil:
		return *w.URL
	case w.Service == nil || w.Path == nil:
		return ""
	default:
		s := w.Service
		return fmt.Sprintf("%s://%s.%s:%d%s", s.Scheme(), s.Name, s.Namespace, s.PortNumber(), *w.Path)
	}
}

// CallTimeout returns the timeout of one call.
func (w *Webhook) CallTimeout() time.Duration {
	if w.Timeout == nil || w.Timeout.Duration <= 0 {
		return DefaultWebhookTimeout
	}
	return w.Timeout.Duration
}

// SideEffectClass is what a call of a webhook does besides answering.
type SideEffectClass string

// SideEffectClassNone means that a call has no effect but its answer.
const SideEffectClassNone SideEffectClass = "None"

// ServiceReference names a port of a Service.
type ServiceReference struct {
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the Service.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
	// Port of the Service. Defaults to 80, also for https.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Protocol is http or https. Defaults to http.
	// +optional
	// +kubebuilder:validation:Enum=http;https
	Protocol *string `json:"protocol,omitempty"`
}

// PortNumber returns the port, 80 by default.
func (s *ServiceReference) PortNumber() int32 {
	if s.Port == nil {
		return 80
	}
	return *s.Port
}

// Scheme returns the protocol, http by default.
func (s *ServiceReference) Scheme() string {
	if s.Protocol == nil {
		return "http"
	}
	return *s.Protocol
}

// WebhookEtag configures a cache of a webhook's answers with their ETag, one for each parent,
// for requests with If-None-Match.
type WebhookEtag struct {
	// Enabled turns it on. Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// CacheTimeoutSeconds is how long an unused answer is kept. By default, and with 0,
	// it is kept while there is room: the answers of a hook may take 32 MiB, and the
	// least recently used ones are evicted first.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more seconds; 0 keeps answers as long as there is room"
	CacheTimeoutSeconds *int32 `json:"cacheTimeoutSeconds,omitempty"`
	// CacheCleanupSeconds is how often expired answers are removed. By default, and
	// with 0, they are removed when they are looked up. Without cacheTimeoutSeconds no
	// answer expires.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more seconds; 0 removes answers past their time as they are met"
	CacheCleanupSeconds *int32 `json:"cacheCleanupSeconds,omitempty"`
}

// ResponseUnmarshalMode is how strictly an answer is read.
type ResponseUnmarshalMode string

const (
	// ResponseLoose ignores unknown and duplicate fields.
	ResponseLoose ResponseUnmarshalMode = "loose"
	// ResponseStrict refuses them.
	ResponseStrict ResponseUnmarshalMode = "strict"
)

// ResponseMode returns how strictly the hook's answer is read. The answer of a script, and
// of its fallback webhook, is read like that of a webhook that sets no mode.
func (h *Hook) ResponseMode() ResponseUnmarshalMode {
	switch {
	case h.Serving() == WebhookBackend && h.Webhook.ResponseUnMarshallMode != nil:
		return *h.Webhook.ResponseUnMarshallMode
	case h.WireVersion() == HookV1:
		return ResponseLoose
	default:
		return ResponseStrict
	}
}

// MayOmitList reports whether an answer may omit its list of children, which then means an
// empty one. This is so only for a webhook with the loose mode written out.
func (h *Hook) MayOmitList() bool {
	return h.Serving() == WebhookBackend && h.Webhook.ResponseUnMarshallMode != nil &&
		*h.Webhook.ResponseUnMarshallMode == ResponseLoose
}
