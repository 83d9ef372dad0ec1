package scripts_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	// libraryBytes is the size of a generated library, and usedKinds which of its files a hook imports.
	libraryBytes = 2 << 20
	usedKinds    = 10
	// revisionsOnly selects archived revisions without their parts.
	revisionsOnly, partsOnly = "!metacontroller.k8s.io/script-part", "metacontroller.k8s.io/script-part"
)

// applyLibrary applies a library in Jsonnet as ConfigMaps that hold less than a MiB each, and returns the sources.
func applyLibrary(e *env.Env) []string {
	e.T.Helper()
	var sources []string
	part, size := map[string]string{}, 0
	flush := func() {
		name := fmt.Sprintf("lib-%d", len(sources))
		applyFiles(e, name, flat(part)...)
		sources = append(sources, fmt.Sprintf("{configMap: {namespace: %s, name: %s, prefix: vendor/lib}}", e.Namespace, name))
		part, size = map[string]string{}, 0
	}
	for total, n := 0, 0; total < libraryBytes; n++ {
		var text strings.Builder
		fmt.Fprintf(&text, "{\n  name: 'kind%d',\n", n)
		for field := 0; text.Len() < 2000; field++ {
			fmt.Fprintf(&text, "  withField%[1]d(value):: { spec+: { field%[1]d: value } },\n", n*100+field)
		}
		text.WriteString("}\n")
		part[fmt.Sprintf("kind%d.libsonnet", n)] = text.String()
		total, size = total+text.Len(), size+text.Len()
		if size > 900<<10 {
			flush()
		}
	}
	flush()
	return sources
}

func flat(files map[string]string) []string {
	var keysAndTexts []string
	for _, key := range slices.Sorted(maps.Keys(files)) {
		keysAndTexts = append(keysAndTexts, key, files[key])
	}
	return keysAndTexts
}

// hookSaying returns a hook that imports some of the library.
func hookSaying(text string) string {
	var imports strings.Builder
	for n := range usedKinds {
		fmt.Fprintf(&imports, "(import 'vendor/lib/kind%d.libsonnet'), ", n*10)
	}
	return fmt.Sprintf("local used = [%s];\nfunction(request) { status: { said: '%s', used: std.length([u.name for u in used]) }, children: [] }\n",
		imports.String(), text)
}

// defineLarge applies a CompositeController whose hook is sync.jsonnet of the ConfigMap hooks, beside a library.
func defineLarge(e *env.Env, library []string) string {
	e.T.Helper()
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.jsonnet}}}
`, e.Namespace, e.Namespace, e.Group, strings.Join(append([]string{source(e, "hooks")}, library...), ", ")))
	return e.Namespace
}

// storedBytes returns how much the data of archived objects is.
func storedBytes(e *env.Env, selector string) (objects, bytes int) {
	e.T.Helper()
	for _, object := range e.List(env.ScriptRevisions, selector) {
		data, err := json.Marshal(object.Object["data"])
		e.NoError(err)
		objects, bytes = objects+1, bytes+len(data)
	}
	return objects, bytes
}

// editHook edits the hook twelve times, and checks what is archived then.
func editHook(e *env.Env, name string) {
	e.T.Helper()
	firstParts, firstBytes := storedBytes(e, partsOnly)

	answers, mark := watchThings(e), e.Mark()
	var took []time.Duration
	for n := range 12 {
		text := fmt.Sprint("edit", n)
		begin := time.Now()
		applyFiles(e, "hooks", "sync.jsonnet", hookSaying(text))
		waitForAnswer(e, answers, text)
		took = append(took, time.Since(begin))
		waitUntilArchived(e, name)
	}
	slices.Sort(took)
	e.WaitForCount(env.ScriptRevisions, revisionsOnly, 10)
	e.Eventually(func() error {
		if parts, _ := storedBytes(e, partsOnly); parts > firstParts+9 {
			return fmt.Errorf("%d parts, want the %d of the library and one more for each later revision", parts, firstParts)
		}
		return nil
	})
	parts, bytes := storedBytes(e, partsOnly)
	writes := len(e.Requests(mark).Filter(ownRequests(e)).Of("apps", "controllerrevisions").Writes())
	e.T.Logf("from an edit of the hook to its answer: p50 %s, most %s; the library is %d objects with %d KiB, ten revisions are %d with %d KiB; "+
		"12 edits cost %d writes of them; the host has %d MiB", took[len(took)/2], took[len(took)-1], firstParts, firstBytes>>10, parts, bytes>>10,
		writes, int(e.Metric("process_resident_memory_bytes", nil))>>20)
	if most := 5 * 12; writes > most {
		e.T.Errorf("12 edits cost %d writes of ControllerRevisions, want at most %d", writes, most)
	}
}

// losePart deletes a part of an archived revision while no host runs, and starts one: half of a revision is none.
func losePart(e *env.Env, revision *unstructured.Unstructured) string {
	e.T.Helper()
	e.Kill()
	var lost string
	for part, object := range e.List(env.ScriptRevisions, partsOnly) {
		digits := object.GetLabels()[partsOnly]
		if lost == "" && strings.Contains(revision.GetAnnotations()["metacontroller.k8s.io/script-parts"], digits) {
			lost = part
		}
	}
	e.Delete(env.ScriptRevisions, e.Namespace, lost)
	e.WaitForDeletion(env.ScriptRevisions, lost, "")
	start(e)
	return lost
}

// TestLargeTree edits a hook beside a library of 2 MiB in several ConfigMaps, and ends hosts whose sources do not load any more.
func TestLargeTree(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	library := applyLibrary(e)
	edit := func(text string) { t.Helper(); applyFiles(e, "hooks", "sync.jsonnet", text) }
	edit(hookSaying("start"))
	begin := time.Now()
	name := defineLarge(e, library)
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "start")
	t.Logf("a definition with %d ConfigMaps serves after %s", len(library)+1, time.Since(begin).Round(time.Millisecond))
	waitUntilArchived(e, name)
	editHook(e, name)

	// What can't be loaded any more is served from the archive after a kill, without a part of the library too.
	last := waitUntilArchived(e, name)
	edit("function(request) {")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "goes on serving")
	e.Kill()
	e.Delete(env.ConfigMaps, e.Namespace, "lib-2")
	start(e)
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "edit11")
	e.WaitForCondition(name, "ScriptsReady", "False", "lib-2: not found", "goes on serving, from ControllerRevision "+e.Namespace+"/"+last.GetName())

	lost := losePart(e, last)
	e.WaitForCondition(name, "ScriptsReady", "False", "none serves in its place", "its part "+e.Namespace+"/"+lost+" is gone")
	applyLibrary(e)
	edit(hookSaying("edit11"))
	waitForSaid(e, "b", "edit11")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	e.Eventually(func() error {
		if e.Get(env.ScriptRevisions, lost) == nil {
			return fmt.Errorf("part %s is not written again", lost)
		}
		return nil
	})

	// With the definition all of it goes.
	e.Delete(env.Definitions(env.Composite), "", name)
	e.WaitForCount(env.ScriptRevisions, "", 0)
}

// TestTreesTooLarge checks that the message names the limit that a tree is beyond. Its sources are one ConfigMap, under many prefixes.
func TestTreesTooLarge(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	var sources []string
	for n := range 19 {
		sources = append(sources, fmt.Sprintf("{configMap: {namespace: %s, name: lib, prefix: p%d}}", e.Namespace, n))
	}
	applyFiles(e, "lib", "text.libsonnet", "'"+strings.Repeat("x", 900<<10)+"'")
	applyFiles(e, "hooks", "sync.jsonnet", "function(request) { status: { said: 'x' }, children: [] }")
	name := defineLarge(e, sources)
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "ConfigMap "+e.Namespace+"/lib: p18/text.libsonnet: ",
		"from here on the script files have more than 16 MiB together: pack what the hooks reach with libretto bundle")
}

// loopBundles returns two texts of a ConfigMap that each expand to 15 MiB.
func loopBundles(e *env.Env) []*unstructured.Unstructured {
	e.T.Helper()
	var bundles []*unstructured.Unstructured
	for n := range 2 {
		files := map[string]string{"sync.jsonnet": fmt.Sprintf("function(request) { status: { said: 'loop%d' }, children: [] }", n)}
		for i := range 1500 {
			files[fmt.Sprintf("vendor/lib/kind%d.libsonnet", i)] = strings.Repeat(fmt.Sprintf("// line %d of %d\n", i, n), 10<<10/16)
		}
		packed, err := bundle.Pack(files)
		e.NoError(err)
		object := configMap("loop")
		delete(object.Object, "data")
		object.Object["binaryData"] = map[string]any{bundle.Key: base64.StdEncoding.EncodeToString(packed)}
		bundles = append(bundles, object)
	}
	return bundles
}

// TestLargeEditsInALoop lets one author write a bundle that expands to 15 MiB all the time, another text each time. Meanwhile the edits of
// another are served, and the host's memory stays bounded.
func TestLargeEditsInALoop(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	bundles := loopBundles(e)
	e.ApplyObject(bundles[0])
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s-loop, labels: {test: %[1]s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %[2]s/v1, resource: things, labelSelector: {matchLabels: {loop: "yes"}}}
  scriptSources: [%[3]s]
  hooks: {sync: {version: v2, script: {path: sync.jsonnet}}}
`, e.Namespace, e.Group, source(e, "loop")))
	e.ApplyThing("looped", "loop: 'yes'", "")
	waitForSaid(e, "looped", "loop0")
	applyFiles(e, "hooks", "sync.js", scriptSaying("start"))
	define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "start")
	cpu := e.Metric("process_cpu_seconds_total", nil)
	stop, stopped, writes, began := make(chan struct{}), make(chan struct{}), 0, time.Now()
	go func() {
		defer close(stopped)
		for ; ; writes++ {
			select {
			case <-stop:
				return
			default:
				e.ApplyObject(bundles[writes%len(bundles)])
			}
		}
	}()
	answers := watchThings(e)
	var took []time.Duration
	most := 0.0
	for n := range 8 {
		begin := time.Now()
		applyFiles(e, "hooks", "sync.js", scriptSaying(n))
		waitForAnswer(e, answers, fmt.Sprint(n))
		took = append(took, time.Since(begin))
		most = max(most, e.Metric("process_resident_memory_bytes", nil))
	}
	close(stop)
	<-stopped
	passed := time.Since(began)
	used := e.Metric("process_cpu_seconds_total", nil) - cpu
	slices.Sort(took)
	t.Logf("%d writes of 15 MiB in %s: the host used %.0f%% of a processor, and %d MiB at most; another's edit was served after p50 %s, most %s",
		writes, passed.Round(time.Millisecond), 100*used/passed.Seconds(), int(most)>>20, took[len(took)/2], took[len(took)-1])
	if most > 1<<30 {
		t.Errorf("the host had %d MiB", int(most)>>20)
	}
	e.ApplyObject(bundles[1])
	waitForSaid(e, "looped", "loop1")
}

// TestVendor serves a directory as jsonnet-bundler lays it out, with the link from the name that a library had before.
func TestVendor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(root, "app", name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at+".swp~", []byte(text), 0o644))
		must(t, os.Rename(at+".swp~", at))
	}
	write("jsonnetfile.json", `{"version": 1, "dependencies": [], "legacyImports": true}`)
	write("vendor/github.com/org/lib/main.libsonnet", "{ text: (import 'text.libsonnet').text }")
	write("vendor/github.com/org/lib/text.libsonnet", "{ text: 'one' }")
	write("vendor/github.com/org/lib/lib_test.jsonnet", "error 'the tests of a library are not run'")
	must(t, os.Symlink("github.com/org/lib", filepath.Join(root, "app/vendor/lib")))
	write("sync.jsonnet", `function(request) {
  status: { said: (import 'lib/main.libsonnet').text + (import 'github.com/org/lib/text.libsonnet').text },
  children: [],
}
`)
	e := newRunning(t, "--scripts-dir="+root)
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s, labels: {test: %[1]s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %[2]s/v1, resource: things}
  scriptSources: [{directory: {path: app}}]
  hooks: {sync: {version: v2, script: {path: sync.jsonnet}}}
`, e.Namespace, e.Group))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "oneone")
	write("vendor/github.com/org/lib/text.libsonnet", "{ text: 'two' }")
	waitForSaid(e, "a", "twotwo")
	e.WaitForCondition(e.Namespace, "ScriptsReady", "True", "Loaded")
}
