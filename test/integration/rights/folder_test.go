package rights

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// folderRun is a host with the rights that libretto rbac prints, which applies a folder.
type folderRun struct {
	*env.Env
	folder, name string
}

// write replaces a file of the folder as editors do.
func (r *folderRun) write(file, text string) {
	r.T.Helper()
	path := filepath.Join(r.folder, file)
	r.NoError(os.WriteFile(path+"~", []byte(text), 0o644))
	r.NoError(os.Rename(path+"~", path))
}

// writeScript writes the ConfigMap of a script.
func (r *folderRun) writeScript(script string) {
	r.T.Helper()
	r.write("hooks.yaml", fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %s, name: hooks}\ndata: {sync.js: %s}\n", r.Namespace, env.Quote(script)))
}

// writeDefinition writes the definition with a resync period.
func (r *folderRun) writeDefinition(seconds int) {
	r.T.Helper()
	r.write("definition.yaml", fmt.Sprintf(`apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec:
  generateSelector: true
  resyncPeriodSeconds: %[2]d
  %[3]s
  %[4]s
  scriptSources: [{configMap: {namespace: %[1]s, name: hooks}}]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, r.name, seconds, r.Parent("things", ""), env.UpdatedChildren))
}

// waitForLog waits until the log of the host has all parts in a line.
func (r *folderRun) waitForLog(parts ...string) {
	r.T.Helper()
	r.Eventually(func() error {
		for line := range strings.Lines(r.Libretto().Log()) {
			missing := 0
			for _, part := range parts {
				if !strings.Contains(line, part) {
					missing++
				}
			}
			if missing == 0 {
				return nil
			}
		}
		return fmt.Errorf("no line of the log has %q", parts)
	})
}

// grant applies what libretto rbac prints.
func (r *folderRun) grant(args ...string) {
	r.T.Helper()
	binary, err := cluster.Binary("libretto")
	r.NoError(err)
	roles, err := exec.CommandContext(r.T.Context(), binary,
		append([]string{"rbac", "--host-namespace", r.Namespace, "--host-service-account", "host"}, args...)...).Output()
	r.NoError(err)
	file := filepath.Join(r.T.TempDir(), "roles.yaml")
	r.NoError(os.WriteFile(file, roles, 0o600))
	r.Kubectl("apply", "-f", file)
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", file); err != nil {
			r.T.Error(err)
		}
	})
}

// TestFolder starts a host with a folder, which the cluster has nothing of. What it lacks the rights for it tells, and applies once it has
// them. An edit of the folder is an edit like all others: it is rolled out, or held. A broken file changes nothing, what somebody else has
// written is not taken from them, and a definition that the folder has no more stays.
func TestFolder(t *testing.T) {
	e := env.NewWithThings(t)
	r := &folderRun{Env: e, folder: t.TempDir(), name: e.Namespace}
	t.Cleanup(func() { e.Delete(env.CompositeControllers, "", r.name) })
	r.writeScript(copies)
	r.writeDefinition(60)
	r.write("thing.yaml", "{apiVersion: "+e.Group+"/v1, kind: Thing, metadata: {name: example}}\n")
	host := e.NewUser("host")
	r.grant("--host")
	e.Start("--kubeconfig", host.Kubeconfig(), "--namespace", e.Namespace, "-f", r.folder)
	r.waitForLog("a definition of the folder is not applied", "CompositeController "+r.name, "definition.yaml:1",
		"ConfigMap "+e.Namespace+"/hooks", "is forbidden", "libretto rbac --host --applies -f "+r.folder+" prints the rights for it")
	r.grant("--host", "--applies", "-f", r.folder, "--parents-in", e.Namespace)
	e.ApplyThing("a", "", "text: one")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	e.WaitForCondition(r.name, "Ready", "True")
	e.WaitForNoMetric("libretto_folder_problems", nil)
	r.waitForLog("not applied: a host applies definitions", "Thing example")

	r.writeScript(strings.Replace(copies, "data: {text}", "data: {text: text + \", edited\"}", 1))
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one, edited"))

	r.write("hooks.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n")
	r.waitForLog("nothing of the folder is applied until this is corrected", "hooks.yaml:3")
	e.WaitForMetric(1, "libretto_folder_problems", nil)
	e.ApplyThing("b", "", "text: two")
	e.WaitFor(env.ConfigMaps, "b", env.HasText("two, edited"))

	r.writeScript("export const sync = () => ({children: []});")
	e.WaitForCondition(r.name, "Progressing", "False", "is held", "delete")
	r.writeScript(copies)
	e.WaitFor(env.ConfigMaps, "b", env.HasText("two"))
	e.WaitForNoMetric("libretto_folder_problems", nil)
	checkConflict(r)

	e.NoError(os.Remove(filepath.Join(r.folder, "definition.yaml")))
	r.waitForLog("the folder does not have it any more", "kubectl delete compositecontroller/"+r.name)
	e.ApplyThing("c", "", "text: three")
	e.WaitFor(env.ConfigMaps, "c", env.HasText("three"))
}

// checkConflict has somebody else edit a field that the folder changes then, and settles that as the message says.
func checkConflict(r *folderRun) {
	r.T.Helper()
	r.Kubectl("patch", "--field-manager=kubectl-edit", "--type=merge", "compositecontroller/"+r.name,
		"-p", `{"spec": {"resyncPeriodSeconds": 90}}`)
	r.writeDefinition(61)
	way := []string{"definition.yaml:1", "spec.resyncPeriodSeconds (kubectl-edit)", "--field-manager=libretto-files"}
	r.waitForLog(append(way, "a definition of the folder is not applied")...)
	r.WaitForEvent(r.name, "FileNotApplied", way...)
	hasPeriod := func(want int64) {
		r.T.Helper()
		r.ClusterScope().WaitFor(env.CompositeControllers, r.name, env.HasField(want, "spec", "resyncPeriodSeconds"))
	}
	hasPeriod(90)
	r.WaitForMetric(1, "libretto_folder_problems", nil)
	r.Kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=libretto-files", "-f", filepath.Join(r.folder, "definition.yaml"))
	r.WaitForNoMetric("libretto_folder_problems", nil)
	hasPeriod(61)
}
