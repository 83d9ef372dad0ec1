package scripts_test

import (
	"fmt"
	"math"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/env"
)

// forge creates, as a user, a copy of an archived revision with another name, number and text, and the same hooks.
func forge(user *env.User, original *unstructured.Unstructured, name string, number int64, text string) {
	e := user.Env()
	e.T.Helper()
	forged := original.DeepCopy()
	forged.Object["metadata"] = map[string]any{"name": name}
	forged.SetLabels(original.GetLabels())
	forged.SetOwnerReferences(original.GetOwnerReferences())
	forged.SetAnnotations(map[string]string{"metacontroller.k8s.io/script-revision-number": fmt.Sprint(number)})
	forged.Object["revision"] = number
	e.NoError(unstructured.SetNestedField(forged.Object, text, "data", "files", "sync.js"))
	_, err := user.In(env.ScriptRevisions).Create(e.T.Context(), forged, metav1.CreateOptions{})
	e.NoError(err)
}

// serve writes a text, and waits until it serves and is archived.
func serve(e *env.Env, definition, text string) *unstructured.Unstructured {
	e.T.Helper()
	applyFiles(e, "hooks", "sync.js", scriptSaying(text))
	waitForSaid(e, "a", text)
	var found *unstructured.Unstructured
	e.Eventually(func() error {
		if found = waitUntilArchived(e, definition); text == "" {
			return nil
		}
		return env.HasField(scriptSaying(text), "data", "files", "sync.js")(found)
	})
	return found
}

// TestForgedArchive lets a user of the namespace who may create ControllerRevisions forge some that belong to a
// definition, before the host starts.
func TestForgedArchive(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	first := serve(e, name, "one")
	later := serve(e, name, "later")
	serve(e, name, "one")
	e.Kill()
	e.Delete(env.ScriptRevisions, e.Namespace, later.GetName())
	e.WaitForDeletion(env.ScriptRevisions, later.GetName(), "")

	user := e.NewUser("editor")
	user.Grant(e.Namespace, env.ScriptRevisions.Group, env.ScriptRevisions.Resource, "create")
	forge(user, first, "composite-"+name+"-0000000000000000", math.MaxInt64, scriptSaying("evil"))
	forge(user, first, later.GetName(), 2, scriptSaying("evil"))
	start(e)
	waitForSaid(e, "a", "one")
	// What is archived goes on to be, and what has the name of a revision without its files is replaced.
	second := serve(e, name, "two")
	e.NoError(env.HasField(3, "revision")(second))
	again := serve(e, name, "later")
	e.NoError(env.HasField(4, "revision")(again))
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")

	// It is what serves after a restart without a text that loads, and not what was forged.
	applyFiles(e, "hooks", "sync.js", broken)
	e.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")
	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "later")
	e.WaitForCondition(name, "ScriptsReady", "False", "goes on serving, from ControllerRevision "+e.Namespace+"/"+again.GetName())

	// Forged files are not served, whatever they are called.
	e.Kill()
	e.Delete(env.ScriptRevisions, e.Namespace, again.GetName())
	e.WaitForDeletion(env.ScriptRevisions, again.GetName(), "")
	forge(user, first, again.GetName(), 4, scriptSaying("evil"))
	start(e)
	e.WaitForCondition(name, "ScriptsReady", "False", "none serves in its place", "has other files")
}

// TestArchiveOfAnotherHash does not restore scripts by a status with another hash of the same digits.
func TestArchiveOfAnotherHash(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	serve(e, name, "one")
	hash := func() string {
		object := e.ClusterScope().Get(env.CompositeControllers, name)
		text, _, _ := unstructured.NestedString(object.Object, "status", "scriptRevisionHash")
		return text
	}
	before := hash()
	if short := e.ScriptRevision(name); len(before) != 64 || before[:16] != short {
		t.Fatalf("the status has revision %q and hash %q, want the whole SHA-256 and its first 16 digits", short, before)
	}
	applyFiles(e, "hooks", "sync.js", broken)
	e.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")
	setHash := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"status": {"scriptRevisionHash": %s}}`, value)
		_, err := e.ClusterScope().In(env.CompositeControllers).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		e.NoError(err)
	}
	e.Kill()
	setHash(env.Quote(before[:63] + map[bool]string{true: "1", false: "0"}[before[63] == '0']))
	start(e)
	e.WaitForCondition(name, "ScriptsReady", "False", "none serves in its place", "has other files")
}
