package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/chaos/history"
	"github.com/libretto-k8s/libretto/test/env"
)

// hooks are the hooks of all definitions: children have the value of the script and the note of the parent.
const hooks = `
import { value } from "./value.js";
if (!value) throw new Error("value.js is empty"); // As a full disk leaves it.
const child = (name, {note}) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value, note}});
export const sync = ({parent}) => ({
  children: Array.from({length: parent.spec.count}, (_, n) => child(parent.metadata.name + "-" + n, parent.spec)),
  status: {value, note: parent.spec.note},
});
export const finalize = ({children}) => ({children: [], finalized: Object.keys(children["ConfigMap.v1"]).length === 0});
export const decorate = ({object}) => ({
  attachments: [child(object.metadata.name + "-0", object.spec)],
  annotations: {"chaos.example.com/value": value},
});
export const map = ({parent, input}) => ({outputs: [child(parent.metadata.name + "-" + input.metadata.name, input.spec)]});
`

// A set is the parents of one definition. Its name begins those of its parents, and theirs those of their children.
type set struct {
	name, kind, method string
	parents, children  int
	finalizes, guests  bool
	// spec are further lines of the definition.
	spec string
}

// steps reports whether edits of the definition are rolled out in steps.
func (s set) steps() bool { return strings.Contains(s.spec, "steps: ") }

// unlimited has previews and the guard at deletions hold no edit: some methods recreate all children for one. And the next leader takes what
// has gone while none counted for the edit's, which adds up with a change of leader each half a minute.
const unlimited = `preview: {maxDeletedChildren: "100%", maxRecreatedChildren: "100%"}`

var sets = []set{
	{name: "ondelete", kind: env.Composite, method: "OnDelete", parents: 1, children: 2},
	{name: "recreate", kind: env.Composite, method: "Recreate", parents: 2, children: 2, finalizes: true, guests: true,
		spec: "scriptRollout: {" + unlimited + "}"},
	{name: "inplace", kind: env.Composite, method: "InPlace", parents: 3, children: 2, finalizes: true, guests: true,
		spec: "scriptRollout: {steps: [{parents: 1}], " + unlimited + "}"},
	{name: "rollingrecreate", kind: env.Composite, method: "RollingRecreate", parents: 1, children: 3,
		spec: "revisionHistoryLimit: 1\nscriptRollout: {" + unlimited + "}"},
	{name: "rollinginplace", kind: env.Composite, method: "RollingInPlace", parents: 1, children: 3, spec: "revisionHistoryLimit: 1"},
	{name: "files", kind: env.Composite, method: "InPlace", parents: 1, children: 2},
	{name: "deco", kind: env.Decorator, method: "InPlace", parents: 1, children: 1},
	{name: "map", kind: env.Map, method: "InPlace", parents: 1, children: 2},
	{name: "input", parents: 2},
}

// world is what the hosts work on, in one namespace.
type world struct {
	*env.Env
	// scripts is the hosts' --scripts-dir.
	scripts string
	lease   string
	// approves reports whether somebody lets edits through that a failed step has taken back, and tookBack whether there was one.
	approves, tookBack bool
}

// setOf returns the set of a parent or a child.
func setOf(name string) (set, bool) {
	prefix, _, _ := strings.Cut(name, "-")
	at := slices.IndexFunc(sets, func(s set) bool { return s.name == prefix })
	if at < 0 {
		return set{}, false
	}
	return sets[at], true
}

func (w *world) model() history.Model {
	return history.Model{
		Parents: "things", Script: "hooks", Lease: w.lease,
		Child: func(name string) (history.Child, bool) {
			s, ok := setOf(name)
			parts := strings.Split(name, "-")
			if !ok || len(parts) < 3 {
				return history.Child{}, false
			}
			parent := parts[0] + "-" + parts[1]
			noted := parent
			if s.kind == env.Map {
				noted = parts[2] + "-" + parts[3]
			}
			return history.Child{
				Parent: parent, Noted: noted, MayGoBack: w.tookBack && s.steps(),
				Recreated: strings.HasSuffix(s.method, "Recreate") || s.method == "Recreate",
				Rolling:   strings.HasPrefix(s.method, "Rolling"),
			}, true
		},
	}
}

// create makes all that there is before hosts run.
func (w *world) create() {
	w.T.Helper()
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	w.ApplyObject(w.scriptMap(0))
	w.NoError(os.MkdirAll(w.files(), 0o755))
	w.NoError(w.writeFiles(0))
	for _, s := range sets {
		for n := range s.parents {
			w.NoError(w.Cluster.Apply(w.T.Context(), w.Namespace, w.thing(s, fmt.Sprint(n), 0)))
		}
		if s.kind != "" {
			w.Apply(w.definition(s))
		}
	}
}

func (w *world) files() string { return filepath.Join(w.scripts, "files") }

// writeFiles writes the scripts of the set files, each file at once.
func (w *world) writeFiles(n int) error {
	for name, text := range map[string]string{"hooks.js": hooks, "value.js": valueFile(n)} {
		next := filepath.Join(w.scripts, "."+name)
		if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Rename(next, filepath.Join(w.files(), name)); err != nil {
			return err
		}
	}
	return nil
}

func valueFile(n int) string { return fmt.Sprintf("export const value = \"v%d\";\n", n) }

func (w *world) scriptMap(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "hooks"},
		"data": map[string]any{
			"hooks.js": hooks, "value.js": valueFile(n), "decorate.js": `export { decorate as sync } from "./hooks.js";`,
		},
	}}
}

func (w *world) thing(s set, name string, note int) *unstructured.Unstructured {
	spec := map[string]any{"count": int64(s.children), "note": fmt.Sprint("v", note)}
	if s.kind == env.Map {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"set": "input"}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.Group + "/v1", "kind": "Thing",
		"metadata": map[string]any{"name": s.name + "-" + name, "labels": map[string]any{"set": s.name}},
		"spec":     spec,
	}}
}

func (w *world) definition(s set) string {
	source, rules, children := "configMap: {namespace: "+w.Namespace+", name: hooks}", w.Parent("things", s.name), "childResources"
	hook, path, version := "sync", "hooks.js", "version: v2, "
	switch {
	case s.name == "files":
		source = "directory: {path: files}"
	case strings.HasPrefix(s.method, "Rolling"):
		rule := strings.TrimSuffix(w.Rule("things", s.name), "}")
		rules = "parentResource: " + rule + ", revisionHistory: {scriptChanges: Rolling}}"
	}
	switch s.kind {
	case env.Decorator:
		rules, children, path = w.Targets("things", s.name), "attachments", "decorate.js"
	case env.Map:
		rules += "\ninputResources: [" + w.Rule("things", "input") + "]"
		children, hook, version = "outputResources", "map", ""
	default:
		rules += "\ngenerateSelector: true"
	}
	called := []string{hook}
	if s.finalizes {
		called = append(called, "finalize")
	}
	spec := []string{
		rules, fmt.Sprintf("%s: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: %s}}]", children, s.method),
		"scriptSources: [{" + source + "}]", s.spec, "hooks:",
	}
	for _, name := range called {
		spec = append(spec, fmt.Sprintf("  %s: {%sscript: {path: %s}}", name, version, path))
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, labels: {test: %s}}\nspec:\n%s",
		env.CompositeControllers.GroupVersion(), s.kind, w.nameOf(s), w.Namespace, env.Indent(strings.Join(spec, "\n")))
}

func (w *world) nameOf(s set) string { return w.Namespace + "-" + s.name }

// edit writes the n-th value, the n-th note of all objects, and changes the guests: parents that are there from one edit to the next. Each
// write is tried until it is done, as the API server may be away.
func (w *world) edit(ctx context.Context, n int) error {
	writes := []func(context.Context) error{
		func(context.Context) error { return w.writeFiles(n) },
		func(ctx context.Context) error {
			return w.patch(ctx, env.ConfigMaps, "hooks", map[string]any{"data": map[string]any{"value.js": valueFile(n)}})
		},
	}
	for _, s := range sets {
		for i := range s.parents {
			writes = append(writes, func(ctx context.Context) error {
				return w.patch(ctx, w.Things(), fmt.Sprint(s.name, "-", i), map[string]any{"spec": map[string]any{"note": fmt.Sprint("v", n)}})
			})
		}
		if s.guests {
			writes = append(writes, func(ctx context.Context) error {
				return w.Cluster.Apply(ctx, w.Namespace, w.thing(s, fmt.Sprint("g", n), n))
			}, func(ctx context.Context) error {
				return ignoreNotFound(w.In(w.Things()).Delete(ctx, fmt.Sprint(s.name, "-g", n-1), metav1.DeleteOptions{}))
			})
		}
	}
	for _, write := range writes {
		if err := retry(ctx, write); err != nil {
			return fmt.Errorf("edit %d: %w", n, err)
		}
	}
	return nil
}

// patch merges fields into an object.
func (w *world) patch(ctx context.Context, resource schema.GroupVersionResource, name string, fields map[string]any) error {
	data, err := yaml.Marshal(fields)
	if err == nil {
		data, err = yaml.YAMLToJSON(data)
	}
	if err == nil {
		_, err = w.In(resource).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	}
	return err
}

// attemptTimeout is how long one attempt of a write may take: an API server that is stopped answers nothing.
const attemptTimeout = 5 * time.Second

// retry tries something until it is done, or ctx ends.
func retry(ctx context.Context, write func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := write(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if pause(ctx, pollInterval) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deleteEvery is how many edits come before the next that somebody deletes a child for. Hosts leave one alone that is deleted ten times
// within a minute, as that is a fight.
const deleteEvery = 3

// deleteOutdated does what the method OnDelete leaves to others for some of the edits, and deletes the first child of the set if that has
// not the n-th value and note, once the parent has them.
func (w *world) deleteOutdated(ctx context.Context, n int) error {
	const name = "ondelete-0-0"
	now := fmt.Sprint("v", n)
	parent, err := w.In(w.Things()).Get(ctx, "ondelete-0", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, field := range []string{"value", "note"} {
		if err := env.HasField(now, "status", field)(parent); err != nil {
			return err
		}
	}
	child, err := w.In(env.ConfigMaps).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if value, note := dataOf(child); n%deleteEvery == 0 && (value != now || note != now) {
		uid := child.GetUID()
		err := w.In(env.ConfigMaps).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		return errors.Join(fmt.Errorf("%s has value %s and note %s, want v%d", name, value, note, n), ignoreNotFound(err))
	}
	return nil
}

func dataOf(child *unstructured.Unstructured) (value, note string) {
	value, _, _ = unstructured.NestedString(child.Object, "data", "value")
	note, _, _ = unstructured.NestedString(child.Object, "data", "note")
	return value, note
}

// resourcesOf are those whose objects are compared.
func (w *world) compared() []dynamic.ResourceInterface {
	return []dynamic.ResourceInterface{w.In(env.ConfigMaps), w.In(w.Things()), w.In(env.Revisions)}
}

// snapshot returns the state of the world without what differs from run to run, and from one edit to the next. It fails if
// something is not as the n-th edit wants it.
func (w *world) snapshot(ctx context.Context, n int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := w.deleteOutdated(ctx, n); err != nil {
		return "", err
	}
	var texts []string
	for _, resource := range w.compared() {
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].GetName(), "libretto-finalizers") {
				continue // It is the host's own record, which it writes some time after its start.
			}
			text, err := normalised(&list.Items[i], n)
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
		}
	}
	for _, s := range sets {
		if s.kind == "" {
			continue
		}
		object, err := w.Cluster.Dynamic().Resource(env.Definitions(s.kind)).Get(ctx, w.nameOf(s), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if err := w.approve(ctx, s, object); err != nil {
			return "", err
		}
		texts = append(texts, outline(object))
	}
	slices.Sort(texts)
	return strings.Join(texts, "---\n"), nil
}

// approve lets the edit through again that a step has taken back because a parent failed.
func (w *world) approve(ctx context.Context, s set, definition *unstructured.Unstructured) error {
	phase, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRollout", "phase")
	revision, _, _ := unstructured.NestedString(definition.Object, "status", "observedScriptRevisionHash")
	if phase != string(v1alpha1.ScriptsRolledBack) || !w.approves || definition.GetAnnotations()[v1alpha1.ApprovedRevisionAnnotation] == revision {
		return nil
	}
	w.tookBack = true
	w.T.Logf("    a step has failed, and %s is approved", revision)
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, v1alpha1.ApprovedRevisionAnnotation, revision)
	resource := w.Cluster.Dynamic().Resource(env.Definitions(s.kind))
	_, err := resource.Patch(ctx, definition.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// outline returns what is compared of a definition.
func outline(definition *unstructured.Unstructured) string {
	text := "definition " + definition.GetName() + "\n"
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, entry := range conditions {
		c, _ := entry.(map[string]any)
		line := fmt.Sprintf("  %v %v %v\n", c["type"], c["status"], c["reason"])
		// Many edits a minute are taken for a loop, which is said for minutes.
		text += strings.ReplaceAll(line, "Ready False HotLoop", "Ready True Running")
	}
	phase, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRollout", "phase")
	finalizers := definition.GetFinalizers()
	return text + fmt.Sprintf("  %s %v\n", phase, finalizers)
}

var (
	values = regexp.MustCompile(`"?\bv\d+\b"?`)
	hashes = regexp.MustCompile(`\b[0-9a-f]{8,}\b`)
	uids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	guests = regexp.MustCompile(`-g\d+\b`)
)

// normalised returns the text of an object, in which values of the n-th edit, what the API server assigns, times and hashes are replaced.
func normalised(object *unstructured.Unstructured, n int) (string, error) {
	observed, found, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if found && observed != object.GetGeneration() {
		return "", fmt.Errorf("%s has observed generation %d of %d", object.GetName(), observed, object.GetGeneration())
	}
	object = object.DeepCopy()
	for _, key := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", key)
	}
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", touched)
	if len(object.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
	}
	unstructured.RemoveNestedField(object.Object, "status", "observedGeneration")
	if object.GetKind() == "ControllerRevision" { // Which former states there are depends on when the host has seen the parent and the script.
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
		unstructured.RemoveNestedField(object.Object, "parentPatch")
	}
	data, err := yaml.Marshal(object.Object)
	text := strings.ReplaceAll(string(data), fmt.Sprintf("\"v%d\"", n), `"NOW"`)
	text = regexp.MustCompile(fmt.Sprintf(`\bv%d\b`, n)).ReplaceAllString(text, "NOW")
	if strings.HasPrefix(object.GetName(), "ondelete-0-") { // How old they are depends on when they were deleted.
		text = values.ReplaceAllString(strings.ReplaceAll(text, "NOW", "v0"), "SOME")
	}
	for _, replace := range []struct {
		what *regexp.Regexp
		by   string
	}{{guests, "-guest"}, {uids, "UID"}, {times, "TIME"}, {hashes, "HASH"}} {
		text = replace.what.ReplaceAllString(text, replace.by)
	}
	return text, err
}
