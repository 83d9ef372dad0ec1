package credentials

import (
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestFor(t *testing.T) {
	some := v1alpha1.Credentials{BasicAuth: &v1alpha1.BasicAuth{}}
	configs := func(hosts ...string) []v1alpha1.EndpointConfig {
		var all []v1alpha1.EndpointConfig
		for _, host := range hosts {
			all = append(all, v1alpha1.EndpointConfig{Host: host, Credentials: some})
		}
		return all
	}
	url := func(url string) *v1alpha1.Webhook { return &v1alpha1.Webhook{URL: &url} }
	own := url("https://a.example.com/")
	own.Credentials = v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{Inline: "x"}}
	const webhook = "spec.hooks.sync.webhook"
	cases := map[string]struct {
		reason  string
		webhook *v1alpha1.Webhook
		configs []v1alpha1.EndpointConfig
		want    string
	}{
		"none":              {"there are none", url("https://a.example.com/"), nil, ""},
		"own":               {"its own credentials come first", own, configs("a.example.com"), webhook},
		"by host":           {"the entry for the host", url("https://a.example.com/x"), configs("b.example.com", "a.example.com"), "spec.endpointConfigs[1]"},
		"first":             {"the first one counts", url("https://a.example.com/"), configs("a.example.com:443", "a.example.com"), "spec.endpointConfigs[0]"},
		"case":              {"hosts are case-insensitive", url("https://A.example.com/"), configs("a.EXAMPLE.com"), "spec.endpointConfigs[0]"},
		"port filled in":    {"443 is the default port of https", url("https://a.example.com/"), configs("a.example.com:443"), "spec.endpointConfigs[0]"},
		"http's port":       {"80 is the default port of http", url("http://a.example.com/"), configs("a.example.com:443", "a.example.com:80"), "spec.endpointConfigs[1]"},
		"port left out":     {"the URL has the default port", url("https://a.example.com:443/"), configs("a.example.com"), "spec.endpointConfigs[0]"},
		"port":              {"another port is another server", url("https://a.example.com:8443/"), configs("a.example.com", "a.example.com:443", "a.example.com:8443"), "spec.endpointConfigs[2]"},
		"https on port 80":  {"80 is not the default port of https", url("https://a.example.com:80/"), configs("a.example.com"), ""},
		"other host":        {"no entry is for it", url("https://a.example.com/"), configs("example.com"), ""},
		"IPv6":              {"brackets belong to the host", url("https://[::1]:443/"), configs("[::1]"), "spec.endpointConfigs[0]"},
		"service":           {"matched by its DNS name and port", &v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "ns"}, Path: new("/sync")}, configs("hooks.ns"), "spec.endpointConfigs[0]"},
		"https and service": {"its port is 80, which is not the default of https", &v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks", Namespace: "ns", Protocol: new("https")}, Path: new("/")}, configs("hooks.ns", "hooks.ns:80"), "spec.endpointConfigs[1]"},
		"malformed":         {"an invalid URL has no host", url("https://a b/"), configs("a b"), ""},
		"no address":        {"there is nothing to call", &v1alpha1.Webhook{}, configs(""), ""},
		"empty entry":       {"the first matching entry has no credentials", url("https://a.example.com/"), []v1alpha1.EndpointConfig{{Host: "a.example.com"}, {Host: "a.example.com", Credentials: some}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			given, field := For(c.webhook, webhook, c.configs)
			if field != c.want || (given != nil) != (field != "") {
				t.Errorf("credentials %v of %q, want those of %q", given, field, c.want)
			}
		})
	}
}
