package credentials

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// For returns the credentials to call a webhook with, and the path of the field that has them. These are
// the webhook's own, if it has any, else those of the first of the definition's endpointConfigs with its
// host (section 1.4 of the specification). It returns nil if there are none. field is the path of the
// webhook.
func For(webhook *v1alpha1.Webhook, field string, configs []v1alpha1.EndpointConfig) (*v1alpha1.Credentials, string) {
	if !webhook.Credentials.Empty() {
		return &webhook.Credentials, field
	}
	target, err := url.Parse(webhook.Address())
	if err != nil || target.Host == "" {
		return nil, ""
	}
	for i := range configs {
		if !matchesHost(configs[i].Host, target) {
			continue
		}
		if configs[i].Credentials.Empty() {
			return nil, ""
		}
		return &configs[i].Credentials, fmt.Sprintf("spec.endpointConfigs[%d]", i)
	}
	return nil, ""
}

// matchesHost reports whether host, with or without a port, is the host of target. The scheme's default
// port may be omitted on either side.
func matchesHost(host string, target *url.URL) bool {
	port := target.Port()
	standard := defaultPort(target.Scheme)
	bare := strings.TrimSuffix(target.Host, ":"+port)
	switch {
	case strings.EqualFold(host, target.Host):
		return true
	case port == "":
		return strings.EqualFold(host, target.Host+":"+standard)
	case port == standard:
		return strings.EqualFold(host, bare)
	default:
		return false
	}
}

func defaultPort(scheme string) string {
	if strings.EqualFold(scheme, "https") {
		return "443"
	}
	return "80"
}
