package rollout_test

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestKinds rolls out an inline script of each kind of definition, step by step, over a restart.
func TestKinds(t *testing.T) {
	t.Parallel()
	const child = `{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "of-" + NAME}, data: {value: %q}}`
	for name, c := range map[string]struct {
		kind, resources, script, hook string
	}{
		"Composite": {env.Composite, "generateSelector: true\nparentResource: {apiVersion: GROUP/v1, resource: things}\nchildResources", "children", "sync"},
		"Decorator": {env.Decorator, "resources: [{apiVersion: GROUP/v1, resource: things}]\nattachments", "attachments", "sync"},
		"Map": {
			env.Map, "parentResource: {apiVersion: GROUP/v1, resource: things}\ninputResources: [{apiVersion: GROUP/v1, resource: gizmos}]\noutputResources",
			"outputs", "map",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := env.NewWithThings(t)
			e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
			s := &scene{Env: e, definition: e.Namespace, kind: c.kind}
			define := func(value string, pause int) {
				object, spec := "parent", replace(c.resources, "GROUP", e.Group)
				switch c.hook {
				case "map":
					object = "input"
				default:
					if c.kind == env.Decorator {
						object = "object"
					}
				}
				script := fmt.Sprintf("export function %s(r) { return {%s: [%s]}; }", c.hook, c.script, fmt.Sprintf(child, value))
				script = replace(script, "NAME", "r."+object+".metadata.name")
				spec += ": [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]\n" +
					fmt.Sprintf("scriptRollout: {steps: [{parents: 1, pauseSeconds: %d}]}\n", pause) + env.Hooks(script, c.hook)
				e.Apply(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: %s, labels: {test: %[2]s}}\nspec:\n%s",
					c.kind, s.definition, env.Indent(spec)))
			}
			for n := range 4 {
				e.ApplyThing(thing(n), "", fmt.Sprintf("selector: {matchLabels: {of: %q}}", thing(n)))
				e.ApplyCustom("Gizmo", thing(n), "of: "+thing(n), "")
			}
			s.start() // No other test's definitions.
			define("one", 600)
			s.waitForValues(map[string]int{"one": 4})
			e.WaitUntilReady(c.kind, s.definition)
			e.WaitForQuiet()
			define("two", 600)
			s.waitForValues(map[string]int{"one": 3, "two": 1})
			e.WaitForConditionOf(c.kind, s.definition, "Progressing", "True", "RollingOut", "step 1 of 2", "its pause began")
			e.Restart()
			e.ApplyThing("other", "", fmt.Sprintf("selector: {matchLabels: {of: %q}}", "other"))
			e.ApplyCustom("Gizmo", "other", "of: other", "")
			s.Eventually(func() error {
				if got := s.values(); got["one"]+got["two"] != 5 || got["two"] < 1 || got["two"] > 2 {
					return fmt.Errorf("children by value: %v", got)
				}
				return nil
			})
			define("two", 0)
			s.waitForValues(map[string]int{"two": 5})
			e.WaitForConditionOf(c.kind, s.definition, "Progressing", "True", "Serving")
		})
	}
}
