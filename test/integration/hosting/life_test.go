package hosting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestTenDefinitionsShareOneWatch(t *testing.T) {
	e := newEnv(t)
	watches := func() int {
		t.Helper()
		n, err := e.Cluster.Watches(t.Context(), "", "configmaps")
		e.NoError(err)
		return n
	}
	before := watches()
	var names []string
	for n := range 10 {
		names = append(names, define(e, fmt.Sprintf("-%d", n), copies, childRule("InPlace")))
	}
	for _, name := range names {
		e.WaitForCondition(name, "Ready", "True")
	}
	if got := watches() - before; got != 1 {
		t.Errorf("the API server counts %d more watches on configmaps, want 1", got)
	}
	e.WaitForWatches("", "configmaps", 1)
	e.WaitForWatches(e.Group, "things", 1)

	// All but one go, and then the last: the watches end with it.
	for _, name := range names[1:] {
		e.Delete(env.CompositeControllers, "", name)
	}
	for _, name := range names[1:] {
		e.WaitForEvent(name, "Stopped")
	}
	if open := e.OpenWatches(e.Group, "things"); len(open) != 1 {
		t.Errorf("%d watches are open while one definition needs them, want 1", len(open))
	}
	e.Delete(env.CompositeControllers, "", names[0])
	e.WaitForWatches("", "configmaps", 0)
	e.WaitForWatches(e.Group, "things", 0)
}

func TestCRDThatComesLateAndGoes(t *testing.T) {
	e := env.New(t)
	e.Start()
	name := define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Accepted", "False", "ResourceNotFound", "things", "is its CustomResourceDefinition installed")
	e.WaitForCondition(name, "Ready", "False")
	e.WaitForEvent(name, "CreateError", "things")

	served := func() time.Duration {
		t.Helper()
		start := time.Now()
		e.Apply(thingCRD(e))
		e.WaitForCondition(name, "Ready", "True")
		return time.Since(start)
	}
	first := served()
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))

	e.Delete(env.CRDs, "", "things."+e.Group)
	e.WaitForCondition(name, "Accepted", "False", "ResourceNotFound")
	e.WaitForWatches(e.Group, "things", 0)
	e.ClusterScope().WaitForDeletion(env.CRDs, "things."+e.Group, "")
	second := served()
	applyThing(e, "b", "count: 1\ntext: two")
	e.WaitFor(env.ConfigMaps, "b-0", env.HasText("two"))
	// A busy machine may hold up one of the two. Whoever only looks again now and then is late each time.
	t.Logf("a late CRD was picked up after %s, and again after %s", first.Round(time.Millisecond), second.Round(time.Millisecond))
	if min(first, second) > 2*time.Second {
		t.Errorf("a late CRD was picked up after %s, and again after %s, want 2 s at most", first, second)
	}
}

// TestCRDAndDefinitionAtOnce applies a definition and then its CustomResourceDefinition, as kubectl does with a directory: that is no
// reason to warn.
func TestCRDAndDefinitionAtOnce(t *testing.T) {
	e := env.New(t)
	e.Start()
	name := define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Accepted", "False", "ResourceNotFound")
	e.Apply(thingCRD(e))
	e.WaitForCondition(name, "Ready", "True")
	list, err := e.Cluster.Dynamic().Resource(env.Events).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	e.NoError(err)
	for _, event := range list.Items {
		if event.Object["type"] != "Normal" {
			t.Errorf("%s %s: %s", event.Object["type"], event.Object["reason"], event.Object["message"])
		}
	}
}

func TestPassThatChangesNothingCostsNoRequest(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("InPlace"))
	for n := range 5 {
		applyThing(e, fmt.Sprintf("t%d", n), "count: 3\ntext: same")
	}
	for n := range 5 {
		e.WaitFor(e.Things(), fmt.Sprintf("t%d", n), hasCount(3))
	}
	waitForParents(e, name, 5)
	e.WaitForQuiet()
	mark, before := e.Mark(), e.Reconciles(name, "success")
	for n := range 5 {
		e.Patch(e.Things(), fmt.Sprintf("t%d", n), `{"metadata": {"annotations": {"touched": "yes"}}}`)
		e.Patch(env.ConfigMaps, fmt.Sprintf("t%d-1", n), `{"metadata": {"annotations": {"touched": "yes"}}}`)
	}
	e.WaitForReconciles(name, before, 5)
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark), "passes that change nothing made requests")
}

// With -v=4 the log says which fields of children were changed, from what to what.
func TestChangedFieldsAreLogged(t *testing.T) {
	e := newEnv(t, "-v=4")
	define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("two"))
	e.Eventually(func() error {
		if line := `data.text: \"one\" becomes \"two\"`; !strings.Contains(e.Libretto().Log(), line) {
			return fmt.Errorf("the log does not have %s", line)
		}
		return nil
	})
}

func TestRestartWritesNothing(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 5\ntext: one")
	e.WaitFor(e.Things(), "a", hasCount(5))
	e.WaitForCondition(name, "Ready", "True")
	e.WaitForQuiet()
	e.Kill()
	mark := e.Mark()
	e.Start()
	e.WaitForReconciles(name, 0, 1)
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Group != env.CompositeControllers.Group }),
		"a restart with nothing changed writes")
	e.Patch(e.Things(), "a", `{"spec": {"count": 6}}`)
	e.WaitFor(env.ConfigMaps, "a-5", env.HasText("one"))
}

func TestEditedDefinition(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("OnDelete"))
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	e.WaitForCondition(name, "Ready", "True")
	mark := e.Mark()

	// A new method takes effect on what is there, and no cache is filled anew.
	e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
	define(e, "", copies, childRule("InPlace"))
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("two"))
	// The archive of scripts lists what it has.
	read := e.Requests(mark).Verbs("list", "watch").Filter(func(r cluster.Request) bool { return r.Resource != "controllerrevisions" })
	e.NoRequests(read, "an edit of a definition makes libretto read")

	// A spec that can't be built leaves the old one at work.
	define(e, "", copies, "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: none.example.com/v1, resource: nothings}]")
	e.WaitForCondition(name, "Accepted", "False", "ResourceNotFound", "spec.childResources[1]", "nothings")
	e.WaitForCondition(name, "Ready", "False", "EarlierSpecServes")
	e.Patch(e.Things(), "a", `{"spec": {"text": "three"}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("three"))

	define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Ready", "True")
}

func TestParentWithoutStatusSubresource(t *testing.T) {
	e := env.New(t)
	crd := e.Parse(thingCRD(e))
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	unstructured.RemoveNestedField(versions[0].(map[string]any), "subresources")
	env.NoError(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
	env.NoError(t, e.Cluster.Apply(t.Context(), e.Namespace, crd))
	e.Start()
	name := define(e, "", copies, childRule("InPlace"))
	e.WaitForEvent(name, "NoStatusSubresource", "does not have subresource 'Status' enabled")
	e.WaitForCondition(name, "Ready", "True", "NoStatusSubresource")
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))

	e.Apply(thingCRD(e))
	e.WaitForCondition(name, "Ready", "True", "Running")
	e.WaitFor(e.Things(), "a", hasCount(1))
}

func TestCountOfParents(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("InPlace"))
	for n := range 3 {
		applyThing(e, fmt.Sprintf("t%d", n), "count: 0\ntext: none")
	}
	e.WaitForColumns(env.Composite, name, "True", "Loaded", "3")
}
