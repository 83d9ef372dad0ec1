package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestSeveral gives definitions of which some can't be run: the others are reported all the same, and of these why not.
func TestSeveral(t *testing.T) {
	t.Parallel()
	const one = `
export function sync({parent}) { return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-c"}, data: {text: "one"}}]}; }`
	e := env.NewRunning(t)
	s := &scene{Env: e}
	spec := func(hooks string, parent string) string {
		return strings.Join([]string{"generateSelector: true", parent,
			"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks}, "\n")
	}
	s.name = e.DefineReady(env.Composite, "", spec(env.Hooks(one, "sync"), e.Parent("things", "")))
	e.ApplyThing("thing", "", "")
	e.WaitFor(env.ConfigMaps, "thing-c", env.HasText("one"))
	definition := func(name, spec string) string {
		return fmt.Sprintf("---\napiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: %s}\nspec:\n%s\n", name, env.Indent(spec))
	}
	none := "parentResource: {apiVersion: none.example.com/v1, resource: nones}"
	files := definition("broken-"+s.name, spec(env.Hooks("export function sync(", "sync"), e.Parent("things", ""))) +
		definition("unserved-"+s.name, spec(env.Hooks(one, "sync"), none)) +
		definition("served-elsewhere-"+s.name, spec(`hooks: {sync: {webhook: {url: "https://example.com/sync"}}}`, e.Parent("things", ""))) +
		definition(s.name, spec(env.Hooks(strings.Replace(one, `"one"`, `"two"`, 1), "sync"), e.Parent("things", "")))
	want := []string{
		"CompositeController broken-" + s.name, "CompositeController unserved-" + s.name, "none.example.com/v1", "spec.hooks.sync is a webhook",
		"data.text: \"one\" becomes \"two\"", "1 parent: 0 unchanged, 1 update, 0 delete", "not compared",
	}
	for _, format := range []string{"text", "markdown", "json"} {
		stdout, stderr, code := s.diffFile(e.Cluster.Kubeconfig, files, "-o", format)
		if code != 2 || !strings.Contains(stderr, "3 of 4 definitions could not be compared:\n  CompositeController ") {
			t.Errorf("%s: exit code %d, want 2: %s", format, code, stderr)
		}
		if format != "json" {
			mustContain(t, stdout, want, nil)
			continue
		}
		var all []struct{ Definition, Error string }
		e.NoError(json.Unmarshal([]byte(stdout), &all))
		if len(all) != 4 || all[0].Error == "" || all[3].Error != "" {
			t.Errorf("%s", stdout)
		}
	}
}
