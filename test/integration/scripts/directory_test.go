package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// must ends the test on the error of something that only prepares it.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// agreeing are two files that throw unless both are of the same n.
func agreeing(n int) map[string]string {
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

// neverHalf says that no call has failed: two files of different revisions would have.
func (h *host) neverHalf(definition string) {
	h.T.Helper()
	failed := h.metric("libretto_reconcile_total", map[string]string{"controller": "CompositeController-" + definition, "outcome": "error"})
	unloaded := h.metric("libretto_script_load_errors_total", nil)
	if failed > 0 || unloaded > 0 {
		h.T.Errorf("%v passes and %v loads failed, want none: some revision was half of one edit and half of another", failed, unloaded)
	}
}

// A mounted ConfigMap is swapped a hundred times; then an editor, a link and the directory's end.
func TestDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "mounted")
	h := newHost(t, "--scripts-dir="+root).begin()
	name := h.define("", "{directory: {path: mounted}}")
	h.thing("a")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "directory mounted: not found")
	mount(t, dir, 0, agreeing(0))
	h.says("a", 0)
	h.keeps(name)
	failed := h.metric("libretto_script_load_errors_total", nil)
	for n := range 100 {
		mount(t, dir, n+1, agreeing(n+1))
	}
	h.says("a", 100)
	if now := h.metric("libretto_script_load_errors_total", nil); now != failed {
		t.Errorf("%v loads failed, want none: the text was good throughout", now-failed)
	}

	must(t, os.RemoveAll(dir))
	h.WaitForCondition(name, "ScriptsReady", "False", "directory mounted: not found", "goes on serving")
	last := h.serving(name)
	must(t, os.MkdirAll(dir, 0o755))
	edit := func(text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, ".sync.js.swp"), []byte(text), 0o644))
		must(t, os.Rename(filepath.Join(dir, ".sync.js.swp"), filepath.Join(dir, "sync.js")))
	}
	edit(saying("edited"))
	h.says("a", "edited")
	h.reloaded(name, last)
	h.keeps(name) // What is not kept yet is lost by a kill.
	edit(broken)
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "directory mounted: sync.js:2:10: ", "goes on serving")
	h.Restart()
	h.thing("b")
	h.says("b", "edited")
	h.WaitForCondition(name, "ScriptsReady", "False", "from ControllerRevision "+h.Namespace+"/")
	edit(saying("mended"))
	h.says("b", "mended")

	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "passwd.js")))
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "directory mounted: passwd.js: is a link that leads nowhere, or out of --scripts-dir", "goes on serving")
	must(t, os.Remove(filepath.Join(dir, "passwd.js")))
	h.WaitForCondition(name, "ScriptsReady", "True")
}

// A host without --scripts-dir says so, as there is nothing that an edit could mend.
func TestNoScriptsDir(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	name := h.define("", "{directory: {path: mounted}}")
	h.WaitForCondition(name, "Accepted", "False", "Invalid", "scriptSources[0].directory: this host has no directory for scripts: start it with --scripts-dir")
}
