package webhooks

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCustomizeIsRedeployed shows that a customize webhook which answers otherwise than
// before is heard, though neither the parent nor anything else changes.
func TestCustomizeIsRedeployed(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	var related atomic.Value
	related.Store("one")
	server.says(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/customize") {
			fmt.Fprintf(w, `{"relatedResources": [{"apiVersion": "v1", "resource": "configmaps", "names": [%q]}]}`, related.Load())
			return
		}
		seen := "nothing"
		for _, name := range []string{"one", "two"} {
			if strings.Contains(string(body), fmt.Sprintf(`%q:{"apiVersion"`, s.Namespace+"/"+name)) {
				seen = name
			}
		}
		fmt.Fprintf(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"value": %q}}]}`, seen)
	})
	for _, name := range []string{"one", "two"} {
		s.Apply(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}`, name))
	}
	s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s-customize}
spec:
  generateSelector: true
  resyncPeriodSeconds: 1
  parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: customize}}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    sync: {version: v2, webhook: {url: %q}}
    customize: {version: v2, webhook: {url: %q}}
`, s.Namespace, s.Group, server.URL+"/sync", server.URL+"/customize"))
	s.thing("customize", "a")
	s.holds("child", "one")
	related.Store("two")
	s.holds("child", "two")
}
