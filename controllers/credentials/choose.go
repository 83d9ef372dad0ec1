package credentials

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// For gives the credentials that a webhook of a definition is called with, and
// the field of its spec that they are given in: the webhook's own, if it has any
// of them, else those of the first of the definition's endpointConfigs for its
// host (section 1.4 of the specification). It gives nil if there are none. field
// is where the webhook is.
func For(webhook *v1alpha1.Webhook, field string, configs []v1alpha1.EndpointConfig) (*v1alpha1.Credentials, string) {
	if !webhook.Credentials.Empty() {
		return &webhook.Credentials, field
	}
	target, err := url.Parse(webhook.Address())
	if err != nil || target.Host == "" {
		return nil, ""
	}
	for i := range configs {
		if !speaksOf(configs[i].Host, target) {
			continue
		}
		if configs[i].Credentials.Empty() {
			return nil, ""
		}
		return &configs[i].Credentials, fmt.Sprintf("spec.endpointConfigs[%d]", i)
	}
	return nil, ""
}

// speaksOf says whether a host, with a port or without, is that of a URL. The
// scheme's default port may be left out on either side.
func speaksOf(host string, target *url.URL) bool {
	port := target.Port()
	standard := standardPort(target.Scheme)
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

func standardPort(scheme string) string {
	if strings.EqualFold(scheme, "https") {
		return "443"
	}
	return "80"
}
