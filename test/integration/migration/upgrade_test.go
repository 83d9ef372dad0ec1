package migration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// olderVariable names folders with the programs of older commits, as tools/upgrade.sh builds them.
const olderVariable = "LIBRETTO_OLDER"

// TestUpgrade replaces a host of an older commit by this one, goes back, and comes again: no child is written, and a change is followed by
// each of them.
func TestUpgrade(t *testing.T) {
	folders := filepath.SplitList(os.Getenv(olderVariable))
	if len(folders) == 0 {
		t.Skip(olderVariable + " names no programs of older commits: make upgrade builds them")
	}
	current, err := cluster.Binary("libretto")
	if err != nil {
		t.Fatal(err)
	}
	for _, older := range folders {
		t.Run(filepath.Base(older), func(t *testing.T) {
			e := env.NewWithThings(t)
			use := func(folder string) {
				t.Setenv("LIBRETTO_BIN_DIR", folder)
				e.Start()
			}
			use(older)
			const child = `{apiVersion: "v1", kind: "ConfigMap", metadata: {name: object.metadata.name + SUFFIX}, data: {text: object.spec.text ?? "first"}}`
			composite := func(name, rule string) {
				e.DefineReady(env.Composite, "-"+name, "generateSelector: true", e.Parent("things", name),
					"childResources: [{apiVersion: v1, resource: configmaps, "+rule+"}]",
					env.Hooks(`const SUFFIX = ""; export const sync = ({parent: object}) => ({children: [`+child+`], status: {said: object.spec.text ?? "first"}});
export const finalize = () => ({children: [], finalized: true});`, "sync", "finalize"))
			}
			composite("dynamic", "updateStrategy: {method: InPlace}")
			composite("applied", "updateStrategy: {method: InPlace}, applyStrategy: ServerSideApply")
			composite("rolling", "updateStrategy: {method: RollingInPlace}")
			e.DefineReady(env.Decorator, "-decorated", e.Targets("things", "dynamic"), "attachments: ["+env.UpdatedConfigMaps+"]",
				env.Hooks(`const SUFFIX = "-decorated"; export const sync = ({object}) => ({attachments: [`+child+`], labels: {decorated: "yes"}});`, "sync"))
			names := []string{"dynamic", "applied", "rolling"}
			for _, name := range names {
				e.ApplyThing(name, "set: "+name, "")
				e.WaitFor(env.ConfigMaps, name, env.HasText("first"))
			}
			e.WaitFor(env.ConfigMaps, "dynamic-decorated", env.HasText("first"))
			for i, next := range []string{filepath.Dir(current), older, filepath.Dir(current)} {
				e.WaitForQuiet()
				mark := e.Mark()
				e.Kill()
				use(next)
				for _, name := range append(names, "decorated") {
					kind := env.Composite
					if name == "decorated" {
						kind = env.Decorator
					}
					e.WaitUntilReady(kind, e.Namespace+"-"+name)
					e.WaitForConditionOf(kind, e.Namespace+"-"+name, "ParentsSynced", "True", "Synced")
				}
				e.WaitForQuiet()
				e.NoRequests(e.Requests(mark).Writes().Filter(func(r cluster.Request) bool {
					return r.Namespace == e.Namespace && (r.Resource == "configmaps" && r.Name != "libretto-finalizers" || r.Resource == "things")
				}), "a host of another commit writes children or parents")
				text := fmt.Sprintf("text-%d", i)
				for _, name := range names {
					e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"text": %q}}`, text))
					e.WaitFor(env.ConfigMaps, name, env.HasText(text))
				}
				e.WaitFor(env.ConfigMaps, "dynamic-decorated", env.HasText(text))
			}
			for _, name := range names {
				e.Delete(e.Things(), e.Namespace, name)
				e.WaitForCount(e.Things(), "set="+name, 0)
			}
		})
	}
}
