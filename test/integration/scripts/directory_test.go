package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// must ends the test on the error of something that only prepares it.
func must(t *testing.T, err error) {
	t.Helper()
	env.NoError(t, err)
}

// mount writes the next state of a ConfigMap's volume as the kubelet does: a new folder, and a link renamed over the old one.
func mount(t *testing.T, dir string, n int, files map[string]string) {
	t.Helper()
	next := fmt.Sprintf("..2024_%d", n)
	must(t, os.MkdirAll(filepath.Join(dir, next), 0o755))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, next, name), []byte(text), 0o644))
	}
	before, _ := os.Readlink(filepath.Join(dir, "..data"))
	must(t, os.Symlink(next, filepath.Join(dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			must(t, os.Symlink("..data/"+name, filepath.Join(dir, name)))
		}
	}
	if before != "" {
		must(t, os.RemoveAll(filepath.Join(dir, before)))
	}
}

// twoFiles returns two files that throw unless both are of the same n.
func twoFiles(n int) map[string]string {
	return map[string]string{
		"lib.js": fmt.Sprintf("export const n = %d;\n", n),
		"sync.js": fmt.Sprintf(`import { n } from "./lib.js";
export function sync() {
  if (n !== %d) throw new Error("half of one revision and half of another");
  return {status: {said: String(n)}, children: []};
}
`, n),
	}
}

// expectNoFailures checks that no call has failed, as with two files of different revisions.
func expectNoFailures(e *env.Env, definition string) {
	e.T.Helper()
	failed := e.Metric("libretto_definition_reconcile_total", map[string]string{"kind": "CompositeController", "definition": definition, "outcome": "error"})
	unloaded := e.Metric("libretto_definition_script_load_errors_total", nil)
	if failed > 0 || unloaded > 0 {
		e.T.Errorf("%v passes and %v loads failed, want none: some revision was half of one edit and half of another", failed, unloaded)
	}
}

// A mounted ConfigMap is swapped a hundred times; then an editor, a link and the directory's end.
func TestDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "mounted")
	e := newRunning(t, "--scripts-dir="+root)
	name := define(e, "", "{directory: {path: mounted}}")
	e.ApplyThing("a", "", "")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "directory mounted: not found")
	mount(t, dir, 0, twoFiles(0))
	waitForSaid(e, "a", 0)
	waitUntilArchived(e, name)
	failed := e.Metric("libretto_definition_script_load_errors_total", nil)
	for n := range 100 {
		mount(t, dir, n+1, twoFiles(n+1))
	}
	waitForSaid(e, "a", 100)
	if now := e.Metric("libretto_definition_script_load_errors_total", nil); now != failed {
		t.Errorf("%v loads failed, want none: the text was good throughout", now-failed)
	}

	must(t, os.RemoveAll(dir))
	e.WaitForCondition(name, "ScriptsReady", "False", "directory mounted: not found", "goes on serving")
	last := e.ScriptRevision(name)
	must(t, os.MkdirAll(dir, 0o755))
	edit := func(text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, ".sync.js.swp"), []byte(text), 0o644))
		must(t, os.Rename(filepath.Join(dir, ".sync.js.swp"), filepath.Join(dir, "sync.js")))
	}
	edit(scriptSaying("edited"))
	waitForSaid(e, "a", "edited")
	waitForReload(e, name, last)
	waitUntilArchived(e, name) // What is not kept yet is lost by a kill.
	edit(broken)
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "directory mounted: sync.js:2:10: ", "goes on serving")
	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "edited")
	e.WaitForCondition(name, "ScriptsReady", "False", "from ControllerRevision "+e.Namespace+"/")
	edit(scriptSaying("mended"))
	waitForSaid(e, "b", "mended")

	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "passwd.js")))
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid",
		"directory mounted: passwd.js: is a link that leads nowhere, or out of --scripts-dir", "goes on serving")
	must(t, os.Remove(filepath.Join(dir, "passwd.js")))
	e.WaitForCondition(name, "ScriptsReady", "True")
}

// A host without --scripts-dir says so, as there is nothing that an edit could mend.
func TestNoScriptsDir(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	name := define(e, "", "{directory: {path: mounted}}")
	e.WaitForCondition(name, "Accepted", "False", "Invalid",
		"scriptSources[0].directory: this host has no directory for scripts: start it with --scripts-dir")
}
