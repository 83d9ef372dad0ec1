package webhooks

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestCustomizeIsRedeployed shows that a customize webhook which answers otherwise than
// before is heard, though neither the parent nor anything else changes.
func TestCustomizeIsRedeployed(t *testing.T) {
	e := env.NewRunning(t)
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
			if strings.Contains(string(body), fmt.Sprintf(`%q:{"apiVersion"`, e.Namespace+"/"+name)) {
				seen = name
			}
		}
		fmt.Fprintf(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"value": %q}}]}`, seen)
	})
	for _, name := range []string{"one", "two"} {
		e.Apply(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}`, name))
	}
	define(e, "customize", fmt.Sprintf("{version: v2, webhook: {url: %q}}, customize: {version: v2, webhook: {url: %q}}",
		server.URL+"/sync", server.URL+"/customize"), "resyncPeriodSeconds: 1")
	applyThing(e, "customize", "a")
	waitForValue(e, "child", "one")
	related.Store("two")
	waitForValue(e, "child", "two")
}
