package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestHeld compares what diff says of an edit with what a host does about it then.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct{ name, rollout, old, text, held string }{
		{"half of the children, and a kind", "null", `{apiVersion: "v1", kind: "Pod"`, `false && {apiVersion: "v1", kind: "Pod"`,
			"it would delete 3 of 3 children of kind Pod of 3 of 3 parents, first Pod "},
		{"all children", "null", "children: [", "children: true ? [] : [", "it would delete 15 of 15 children of 3 of 3 parents, first ConfigMap "},
		{"recreations", "null", `"Pod", metadata: {name}, spec: {`, `"Pod", metadata: {name}, spec: {terminationGracePeriodSeconds: 5, `, "it would recreate 3 of 3 children of kind Pod"},
		{"a parent that fails", "null", "const labels", `if (name === "thing-1") throw new Error("not this one"); const labels`, "1 of 3 parents that succeed now would fail, first Thing "},
		{"a limit", `{"preview": {"maxDeletedChildren": 0}}`, `{apiVersion: "v1", kind: "Service", metadata: {name}`, `name === "thing-0" && {apiVersion: "v1", kind: "Service", metadata: {name}`,
			"it would delete 2 of 15 children of 2 of 3 parents, more than spec.scriptRollout.preview.maxDeletedChildren: 0 allows, first Service "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.PatchDefinition(env.Composite, s.name, `{"spec": {"scriptRollout": `+c.rollout+`}}`)
			edited := strings.Replace(strings.Replace(script, c.old, c.text, 1), "    ],\n", "    ].filter(Boolean),\n", 1)
			stdout, stderr, _ := s.diff(s.Cluster.Kubeconfig, edited, "-o", "json")
			var all []struct {
				Edit struct{ Revision, Held, Approve string }
			}
			if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Edit.Held, c.held) {
				t.Fatalf("%v: held %q is not in:\n%s%s", err, c.held, stdout, stderr)
			}
			s.Apply(s.hooks(edited))
			got := s.WaitForCondition(s.name, "Progressing", "False", "Held", all[0].Edit.Revision[:16])
			held, _, _ := strings.Cut(all[0].Edit.Held, ": HookFailed") // Places are those of files here, and of keys there.
			if !strings.Contains(got.Message, held) {
				t.Errorf("diff says %q, and the host %q", held, got.Message)
			}
			text, _, _ := s.diff(s.Cluster.Kubeconfig, edited)
			mustContain(t, text, []string{
				"! a host would hold this edit, unless it runs with --script-preview=false: " + held, " (previewed on 3 of 3 parents; a host considers others, too, which were not requested)\n",
				"libretto rollout approve compositecontroller/" + s.name + " " + all[0].Edit.Revision[:16] + "\n",
			}, nil)
			s.Apply(s.hooks(script))
			s.WaitForCondition(s.name, "Progressing", "True", "Serving")
		})
	}
	harmless := strings.Replace(script, "very-secret-one", "very-secret-two", 1)
	author := s.reader()
	stdout, stderr, code := s.diff(author, harmless, "-o", "markdown")
	if code != 0 || !strings.Contains(stdout, "= a host would let this edit through, revision ") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	stdout, _, _ = s.diff(author, harmless, "--max-parents", "1")
	mustContain(t, stdout, []string{"; a host considers others, too, which were not requested"}, nil)
}

// TestDroppedChildResources tells of children that a definition no longer lists, and compares that with what a host does about them.
func TestDroppedChildResources(t *testing.T) {
	t.Parallel()
	const one = `
export function sync({parent}) { return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {text: "one"}}]}; }`
	e := env.NewRunning(t)
	s := &scene{Env: e}
	spec := func(children, text string) []string {
		return []string{"generateSelector: true", e.Parent("things", ""), "childResources: [" + children + "]", env.Hooks(text, "sync")}
	}
	const configMaps, secrets = "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}", "{apiVersion: v1, resource: secrets}"
	s.name = e.DefineReady(env.Composite, "", spec(configMaps+", "+secrets, one)...)
	e.ApplyThing("thing", "", "")
	before := e.WaitFor(env.ConfigMaps, "thing", env.HasText("one"))
	none := spec(secrets, `export function sync() { return {children: []}; }`)
	document := "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: " + s.name + "}\nspec:\n" + env.Indent(strings.Join(none, "\n"))
	stdout, stderr, code := s.diffFile(e.Cluster.Kubeconfig, document)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	mustContain(t, stdout, []string{"= configmaps are no children any more: those that are there stay as they are", "= a host would let this edit through", "1 parent: 1 unchanged"}, []string{"- delete"})
	e.DefineReady(env.Composite, "", none...)
	e.Patch(e.Things(), "thing", `{"metadata": {"labels": {"touched": "yes"}}}`)
	e.WaitForQuiet()
	if after := e.Get(env.ConfigMaps, "thing"); after.GetUID() != before.GetUID() || after.GetDeletionTimestamp() != nil {
		t.Errorf("the host did not leave the ConfigMap as it was: %v", after.Object)
	}
}

// TestDeletionPolicy tells of children that are deleted with their parents from now on, or not any more.
func TestDeletionPolicy(t *testing.T) {
	t.Parallel()
	e := env.NewRunning(t)
	s := &scene{Env: e}
	for _, c := range []struct{ from, to, want string }{
		{"Delete", "Orphan", "metadata.ownerReferences: deleted with the parent becomes kept by the namespace"},
		{"Orphan", "Delete", "metadata.ownerReferences: kept by the namespace becomes deleted with the parent"},
	} {
		spec := func(policy string) []string {
			return []string{"generateSelector: true", e.Parent("things", ""), "deletionPolicy: " + policy, env.UpdatedChildren, env.Hooks(
				`export const sync = ({parent: {metadata: {name}}}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name}}]});`, "sync")}
		}
		s.name = e.DefineReady(env.Composite, "", spec(c.from)...)
		e.ApplyThing("thing", "", "")
		e.WaitFor(env.ConfigMaps, "thing", func(o *unstructured.Unstructured) error {
			if keeps := apply.NamespaceOwnerOf(o) != nil; keeps != (c.from == "Orphan") {
				return fmt.Errorf("its owners are %v", o.GetOwnerReferences())
			}
			return nil
		})
		stdout, stderr, _ := s.diffFile(e.Cluster.Kubeconfig, "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: "+
			s.name+"}\nspec:\n"+env.Indent(strings.Join(spec(c.to), "\n")))
		mustContain(t, stdout+stderr, []string{"~ update 1 ConfigMap of 1 parent\n", c.want}, nil)
	}
}
