package scripts_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// Good, good, bad, good: told on the definition, on the ConfigMap and in the figures.
func TestEditsOfAHost(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", saying("one"))
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.says("a", "one")
	h.keeps(name)
	first := h.serving(name)
	label := map[string]string{"definition": "CompositeController " + name}

	h.configMap("hooks", "sync.js", saying("two"))
	h.says("a", "two")
	good := h.reloaded(name, first)
	h.keeps(name)
	h.WaitForEvent(name, "ScriptReloaded", "revision "+good+" serves")
	h.WaitForEvent("hooks", "ScriptReloaded", "CompositeController "+name+": revision "+good+" serves")
	h.WaitForCondition(name, "ScriptsReady", "True", "Loaded", "revision "+good+" serves")

	h.configMap("hooks", "sync.js", broken)
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "ConfigMap "+h.Namespace+"/hooks: sync.js:2:10: ", "revision "+good+" goes on serving")
	h.WaitForEvent(name, "ScriptInvalid", "sync.js:2:10: ")
	h.WaitForEvent("hooks", "ScriptInvalid", "CompositeController "+name+": sync.js:2:10: ")
	h.thing("late")
	h.says("late", "two")
	if failed, info := h.metric("libretto_script_load_errors_total", label), h.metric("libretto_script_revision_info", label); failed != 1 || info != 1 {
		t.Errorf("%v load errors and %v revisions that serve, want one of each", failed, info)
	}

	h.configMap("hooks", "sync.js", saying("three"))
	h.says("a", "three")
	h.says("late", "three")
	h.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	h.reloaded(name, good)
	if got := h.metric("libretto_script_reload_duration_seconds", nil); got != 3 {
		t.Errorf("%v swaps were timed, want 3", got)
	}
	h.keeps(name)
	if got := len(h.List(kept, "")); got != 3 {
		t.Errorf("%d revisions are kept, want the 3 that loaded", got)
	}
}

func TestBadAtTheStart(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", broken)
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:2:10: ")
	h.WaitForCondition(name, "Ready", "False", "ScriptsNotReady")
	h.configMap("hooks", "sync.js", saying("one"))
	h.says("a", "one")
	h.WaitForCondition(name, "ScriptsReady", "True")
	h.WaitForCondition(name, "Ready", "True")
}

// What served goes on after a restart: with a text that does not load, and without any.
func TestBadAndRestart(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", saying("one"))
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.says("a", "one")
	revision := h.keeps(name)
	if owner := metav1.GetControllerOf(revision); owner == nil || owner.Name != name {
		t.Errorf("the revision is owned by %v, want the definition", owner)
	}
	h.configMap("hooks", "sync.js", broken)
	h.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")

	mark := h.Mark()
	h.Restart()
	h.thing("b")
	h.says("b", "one")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:2:10: ", "goes on serving, from ControllerRevision "+h.Namespace+"/"+revision.GetName())
	h.WaitForCondition(name, "Ready", "True")

	h.Delete(env.ConfigMaps, h.Namespace, "hooks")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "goes on serving, from ControllerRevision")
	h.Restart()
	h.thing("c")
	h.says("c", "one")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "goes on serving, from ControllerRevision")

	h.configMap("hooks", "sync.js", saying("one"))
	h.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	if writes := h.Requests(mark).In(h.Namespace).Of("apps", "controllerrevisions").Writes(); len(writes) > 0 {
		t.Errorf("restarts, and the text that is kept already, make it write:\n%s", writes)
	}
	h.configMap("hooks", "sync.js", saying("two"))
	h.says("c", "two")
	h.keeps(name)

	h.Delete(env.CompositeControllers, "", name)
	h.WaitForDeletion(kept, revision.GetName(), revision.GetUID())
}

// The ConfigMap, a key, or the namespace is not there, and comes.
func TestSourcesComeAndGo(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", saying("one"))
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.says("a", "one")

	h.Delete(env.ConfigMaps, h.Namespace, "hooks")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "ConfigMap "+h.Namespace+"/hooks: not found", "goes on serving")
	h.configMap("hooks", "sync.js", saying("two"))
	h.says("a", "two")

	if err := h.In(env.ConfigMaps).Delete(t.Context(), "hooks", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.configMap("hooks", "other.js", saying("three"))
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", `hook sync: no file "sync.js" in the script sources: they have other.js`, "goes on serving")
	h.WaitForEvent("hooks", "ScriptInvalid", "CompositeController "+name+`: hook sync: no file "sync.js"`)
	h.configMap("hooks", "sync.js", saying("three"))
	h.says("a", "three")
}

func TestSourceInALateNamespace(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	late := h.Namespace + "-late"
	name := h.define("", fmt.Sprintf("{configMap: {namespace: %s, name: hooks}}", late))
	h.thing("a")
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "ConfigMap "+late+"/hooks")
	client := kubernetes.NewForConfigOrDie(h.Cluster.Config)
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Cluster.Apply(t.Context(), late, configMap("hooks", "sync.js", saying("one"))); err != nil {
		t.Fatal(err)
	}
	h.says("a", "one")
	cluster.Eventually(t, env.Timeout, func() error {
		list, err := h.Cluster.Dynamic().Resource(kept).Namespace(late).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) != 1 {
			err = fmt.Errorf("%d revisions are kept beside the source, want 1", len(list.Items))
		}
		return err
	})
}

// An edit of a library reaches the definitions that import it, each with its own hook.
func TestSharedLibrary(t *testing.T) {
	t.Parallel()
	h := newHost(t).begin()
	library := func(text string) { h.configMap("lib", "lib.js", fmt.Sprintf("export const text = %q;\n", text)) }
	library("one")
	for _, one := range []string{"left", "right"} {
		h.configMap("hooks-"+one, "sync.js", fmt.Sprintf(`
import { text } from "./lib.js";
export const sync = ({parent}) => ({status: {...parent.status, %s: text}, children: []});
`, one))
		h.define("-"+one, h.from("hooks-"+one), h.from("lib"))
	}
	// Each Thing is one definition's: two that write one status would undo each other.
	h.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: left, labels: {not-right: \"\"}}}", h.Group))
	h.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: right, labels: {not-left: \"\"}}}", h.Group))
	both := func(want string) {
		t.Helper()
		for _, name := range []string{"left", "right"} {
			h.WaitFor(h.things, name, func(o *unstructured.Unstructured) error {
				if got, _, _ := unstructured.NestedString(o.Object, "status", name); got != want {
					return fmt.Errorf("%s has %q, want %q", name, got, want)
				}
				return nil
			})
		}
	}
	both("one")
	library("two")
	both("two")
	h.configMap("lib", "lib.js", "export const text = ;\n")
	h.WaitForCondition(h.Namespace+"-left", "ScriptsReady", "False", "ConfigMap "+h.Namespace+"/lib: lib.js:1:")
	h.WaitForCondition(h.Namespace+"-right", "ScriptsReady", "False", "ConfigMap "+h.Namespace+"/lib: lib.js:1:")
	h.WaitForEvent("lib", "ScriptInvalid", "CompositeController "+h.Namespace+"-left: lib.js:1:")
	h.WaitForEvent("lib", "ScriptInvalid", "CompositeController "+h.Namespace+"-right: lib.js:1:")
	library("three")
	both("three")
}
