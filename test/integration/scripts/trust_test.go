package scripts_test

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// Scripts from several namespaces share no worker, even if they are the same text, unless they may.
func TestTrustDomains(t *testing.T) {
	for _, trust := range []string{"namespace", "shared"} {
		t.Run(trust, func(t *testing.T) {
			t.Parallel()
			e := env.NewWithThings(t)
			start(e, "--script-workers=1", "--script-trust="+trust)
			const domains = 4
			for n := range domains {
				apart := e.InNamespace(fmt.Sprintf("%s-%d", e.Namespace, n))
				e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", apart.Namespace))
				applyFiles(apart, "hooks", "sync.js", scriptSaying("hello"))
				define(e, fmt.Sprint("-", n), source(apart, "hooks"))
				labels := ""
				for other := range domains {
					if other != n {
						labels += fmt.Sprintf("not-%d: x, ", other)
					}
				}
				e.ApplyThing(fmt.Sprint("thing-", n), labels, "")
			}
			for n := range domains {
				waitForSaid(e, fmt.Sprint("thing-", n), "hello")
			}
			replaced := map[string]string{"reason": "domain"}
			if trust == "shared" {
				if got := e.Metric("libretto_script_worker_ends_total", replaced); got > 0 {
					t.Errorf("%v workers were replaced for other domains, of which there are none", got)
				}
				return
			}
			e.WaitForMetric(1, "libretto_script_worker_ends_total", replaced) // There are two workers for four domains.
		})
	}
}
