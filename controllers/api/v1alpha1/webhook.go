package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultWebhookTimeout is how long a webhook may take where its definition gives no positive time.
const DefaultWebhookTimeout = 10 * time.Second

// Webhook is a server that answers a hook's request, sent to it by HTTP POST as JSON.
// +kubebuilder:validation:XValidation:rule="has(self.url) || (has(self.service) && has(self.path))",message="say where to call: give url, or both service and path"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.path) || self.path.size() == 0 || self.path.startsWith('/')",message="path must start with /, because it follows the service's host and port as it stands",fieldPath=".path"
type Webhook struct {
	// URL is the complete address. It wins over service and path.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(?i:https?)://[^/]')",message="write the complete address, starting with http:// or https://"
	URL *string `json:"url,omitempty"`
	// Service is called by its cluster DNS name, at path, where there is no url.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`
	// Path follows the service's host and port as it stands, leading / included.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Path *string `json:"path,omitempty"`
	// Timeout bounds one call as a whole, such as 10s or 1m30s. Absent, zero and
	// negative mean 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",message="must be a duration such as 500ms, 10s or 1m30s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Etag remembers answers, so that an unchanged one need not be sent again.
	// +optional
	Etag *WebhookEtag `json:"etag,omitempty"`
	// ResponseUnMarshallMode says how an answer with unknown or doubled fields is
	// taken: loose ignores them, strict refuses the answer. Written out, loose
	// also lets an answer leave the list of children out, which then means none.
	// Absent means loose for version v1 and strict for v2, and the list must be there.
	// +optional
	// +kubebuilder:validation:Enum=loose;strict
	ResponseUnMarshallMode *ResponseUnmarshalMode `json:"responseUnMarshallMode,omitempty"`
	// Credentials of this webhook. If it has any of the four, endpointConfigs is
	// not consulted.
	Credentials `json:",inline"`
}

// Address is the URL to call: url if it is given, else service and path, else "".
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

// CallTimeout is the time that one call may take.
func (w *Webhook) CallTimeout() time.Duration {
	if w.Timeout == nil || w.Timeout.Duration <= 0 {
		return DefaultWebhookTimeout
	}
	return w.Timeout.Duration
}

// ServiceReference names a port of a Service.
type ServiceReference struct {
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the Service.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
	// Port of the Service. Absent means 80, for https too.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Protocol is http or https. Absent means http.
	// +optional
	// +kubebuilder:validation:Enum=http;https
	Protocol *string `json:"protocol,omitempty"`
}

// PortNumber is the port, 80 unless another is given.
func (s *ServiceReference) PortNumber() int32 {
	if s.Port == nil {
		return 80
	}
	return *s.Port
}

// Scheme is the protocol, http unless https is given.
func (s *ServiceReference) Scheme() string {
	if s.Protocol == nil {
		return "http"
	}
	return *s.Protocol
}

// WebhookEtag says whether and for how long a webhook's answers are remembered with
// their ETag, one for each parent, to be asked for again with If-None-Match.
type WebhookEtag struct {
	// Enabled turns it on. Absent means false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// CacheTimeoutSeconds is how long an answer that is not asked for is kept.
	// Absent and 0 mean for as long as there is room: a hook's answers may take
	// 32 MiB, and those that were not asked for the longest make room first.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more seconds; 0 keeps answers as long as there is room"
	CacheTimeoutSeconds *int32 `json:"cacheTimeoutSeconds,omitempty"`
	// CacheCleanupSeconds is how often answers past their time are removed.
	// Absent and 0 mean that it is done as they are met; without
	// cacheTimeoutSeconds there is nothing to remove.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more seconds; 0 removes answers past their time as they are met"
	CacheCleanupSeconds *int32 `json:"cacheCleanupSeconds,omitempty"`
}

// ResponseUnmarshalMode says how strictly an answer is read.
type ResponseUnmarshalMode string

const (
	// ResponseLoose ignores unknown and doubled fields.
	ResponseLoose ResponseUnmarshalMode = "loose"
	// ResponseStrict refuses them.
	ResponseStrict ResponseUnmarshalMode = "strict"
)

// ResponseMode is how strictly the hook's answer is read. A script is read like
// a webhook that says nothing about it, and so is the webhook that it falls back to.
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

// MayOmitList says whether an answer without its list of children counts as an
// empty list, which only a webhook with the loose mode written out may rely on.
func (h *Hook) MayOmitList() bool {
	return h.Serving() == WebhookBackend && h.Webhook.ResponseUnMarshallMode != nil &&
		*h.Webhook.ResponseUnMarshallMode == ResponseLoose
}
