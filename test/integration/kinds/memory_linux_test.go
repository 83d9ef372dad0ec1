package kinds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// swelling makes ConfigMaps that are much larger than the Gizmos that they are made of, and than any that the API
// server takes.
const swelling = `
export function map({input: {metadata}}) {
  return {outputs: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name}, data: {text: "x".repeat(7e6)}}]};
}`

// TestMapOfLargeAnswers has a map whose hook answers 7 MB for each of 200 small inputs, beside another map of the host.
func TestMapOfLargeAnswers(t *testing.T) {
	const inputs, most = 200, 1 << 30 // bytes of memory
	e := newMapScene(t)
	resources := fmt.Sprintf("inputResources: [{apiVersion: %s/v1, resource: gizmos}]\noutputResources: [%s]", e.Group, env.UpdatedConfigMaps)
	large := e.DefineReady(env.Map, "-large", e.Parent("things", "large"), resources, env.Hooks(swelling, "map"))
	e.DefineReady(env.Map, "-small", e.Parent("things", "small"), resources, env.Hooks(copying, "map"))
	var gizmos strings.Builder
	for i := range inputs {
		fmt.Fprintf(&gizmos, "---\n{apiVersion: %s/v1, kind: Gizmo, metadata: {name: large-%d, labels: {of: large}}}\n", e.Group, i)
	}
	e.Apply(gizmos.String())
	e.ApplyThing("large", "set: large", "selector: {matchLabels: {of: large}}")

	e.WaitForEvent("large", "SyncError", "HookLimitExceeded: map hook: the responses of this sync take more than 128 MiB of memory",
		"there is room for the first 19 of 200", "--max-sync-response-size")
	e.ApplyThing("small", "set: small", "selector: {matchLabels: {of: small}}")
	gizmo(e, "small", "small", "text: innocent")
	e.WaitFor(env.ConfigMaps, "small-small", env.HasText("innocent"))
	e.Eventually(func() error {
		if n := e.ReconcilesOf(env.Map, large, "error"); n < 3 {
			return fmt.Errorf("%.0f syncs have failed, want 3: each holds what it may", n)
		}
		return nil
	})
	if cached := e.Metric("libretto_definition_response_cache_bytes", map[string]string{"kind": "MapController", "definition": large}); cached > 128<<20 || cached < 1<<20 {
		t.Errorf("%.0f MiB of responses are cached, want some, and at most 128", cached/(1<<20))
	}
	peak, err := e.Libretto().PeakMemory()
	e.NoError(err)
	t.Logf("the host had at most %d MiB resident", peak>>20)
	if peak > most {
		t.Errorf("the host had %d MiB resident, want at most %d", peak>>20, most>>20)
	}
}
