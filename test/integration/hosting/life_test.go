package hosting

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
)

func (w *world) openWatches(group, resource string) cluster.Requests {
	w.t.Helper()
	open, err := w.c.OpenWatches(w.t.Context(), agent, group, resource)
	if err != nil {
		w.t.Fatal(err)
	}
	return open
}

func TestTenDefinitionsShareOneWatch(t *testing.T) {
	w := newWorld(t)
	counted := func(group, resource string) int {
		t.Helper()
		n, err := w.c.Watches(t.Context(), group, resource)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	maps := counted("", "configmaps")
	var names []string
	for n := range 10 {
		names = append(names, w.definition(fmt.Sprintf("-%d", n), copies, childRule("InPlace")))
	}
	for _, name := range names {
		w.mustCondition(name, "Ready", "True")
	}
	if got := counted("", "configmaps") - maps; got != 1 {
		t.Errorf("the API server counts %d more watches on configmaps, want 1", got)
	}
	for group, resource := range map[string]string{"": "configmaps", w.group: "things"} {
		if open := w.openWatches(group, resource); len(open) != 1 {
			t.Errorf("%d watches on %s are open, want 1:\n%s", len(open), resource, open)
		}
	}

	// All but one go, and then the last: the watches end with it.
	for _, name := range names[1:] {
		w.remove(composites, "", name)
	}
	cluster.Eventually(t, soon, func() error {
		if started := w.passes(names[9], "success"); started != 0 {
			return fmt.Errorf("%s still runs", names[9])
		}
		return nil
	})
	if open := w.openWatches(w.group, "things"); len(open) != 1 {
		t.Errorf("%d watches are open while one definition needs them, want 1", len(open))
	}
	w.remove(composites, "", names[0])
	for group, resource := range map[string]string{"": "configmaps", w.group: "things"} {
		cluster.Eventually(t, soon, func() error {
			if open := w.openWatches(group, resource); len(open) != 0 {
				return fmt.Errorf("%s is still watched:\n%s", resource, open)
			}
			return nil
		})
	}
}

func TestCRDThatComesLateAndGoes(t *testing.T) {
	w := newWorldWithoutThings(t)
	w.start()
	name := w.definition("", copies, childRule("InPlace"))
	w.mustCondition(name, "Accepted", "False", "ResourceNotFound", "things", "is its CustomResourceDefinition installed")
	w.mustCondition(name, "Ready", "False")
	w.mustEvent(name, "CreateError", "things")

	start := time.Now()
	w.apply(w.thingCRD())
	w.mustCondition(name, "Ready", "True")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a late CRD was picked up after %s, want 2 s at most", took)
	} else {
		t.Logf("a late CRD was picked up after %s", took.Round(time.Millisecond))
	}
	w.thing("a", "count: 1\ntext: one")
	w.must(configMaps, "a-0", hasText("one"))

	w.remove(crds, "", "things."+w.group)
	w.mustCondition(name, "Accepted", "False", "ResourceNotFound")
	cluster.Eventually(t, soon, func() error {
		if open := w.openWatches(w.group, "things"); len(open) != 0 {
			return fmt.Errorf("still watched:\n%s", open)
		}
		return nil
	})
	cluster.Eventually(t, soon, func() error {
		_, err := w.c.Dynamic().Resource(crds).Get(t.Context(), "things."+w.group, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition is still being deleted (%v)", err)
		}
		return nil
	})
	w.apply(w.thingCRD())
	w.mustCondition(name, "Ready", "True")
	w.thing("b", "count: 1\ntext: two")
	w.must(configMaps, "b-0", hasText("two"))
}

func TestPassThatChangesNothingCostsNoRequest(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, childRule("InPlace"))
	for n := range 5 {
		w.thing(fmt.Sprintf("t%d", n), "count: 3\ntext: same")
	}
	for n := range 5 {
		w.must(w.things, fmt.Sprintf("t%d", n), hasCount(3))
	}
	w.settled()
	mark, before := w.mark(), w.passes(name, "success")
	for n := range 5 {
		w.patch(w.things, fmt.Sprintf("t%d", n), `{"metadata": {"annotations": {"touched": "yes"}}}`)
		w.patch(configMaps, fmt.Sprintf("t%d-1", n), `{"metadata": {"annotations": {"touched": "yes"}}}`)
	}
	w.mustPass(name, before, 5)
	w.settled()
	if requests := w.requests(mark); len(requests) > 0 {
		t.Errorf("passes that change nothing made requests:\n%s", requests)
	}
}

func TestRestartWritesNothing(t *testing.T) {
	w := newWorldWithoutThings(t)
	w.apply(w.thingCRD())
	ctx := t.Context()
	first, err := w.c.StartLibretto(ctx)
	if err != nil {
		t.Fatal(err)
	}
	name := w.definition("", copies, childRule("InPlace"))
	w.thing("a", "count: 5\ntext: one")
	w.must(w.things, "a", hasCount(5))
	w.mustCondition(name, "Ready", "True")
	w.settled()
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	mark := w.mark()
	w.start()
	w.mustPass(name, 0, 1)
	w.settled()
	if writes := w.requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Group != composites.Group }); len(writes) > 0 {
		t.Errorf("a restart with nothing changed writes:\n%s", writes)
	}
	w.patch(w.things, "a", `{"spec": {"count": 6}}`)
	w.must(configMaps, "a-5", hasText("one"))
}

func TestEditedDefinition(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, childRule("OnDelete"))
	w.thing("a", "count: 1\ntext: one")
	w.must(configMaps, "a-0", hasText("one"))
	w.mustCondition(name, "Ready", "True")
	mark := w.mark()

	// A new method takes effect on what is there, and no cache is filled anew.
	w.patch(w.things, "a", `{"spec": {"text": "two"}}`)
	w.definition("", copies, childRule("InPlace"))
	w.must(configMaps, "a-0", hasText("two"))
	if reads := w.requests(mark).Verbs("list", "watch"); len(reads) > 0 {
		t.Errorf("an edit of a definition makes libretto read:\n%s", reads)
	}

	// A spec that can't be built leaves the old one at work.
	w.definition("", copies, "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: none.example.com/v1, resource: nothings}]")
	w.mustCondition(name, "Accepted", "False", "ResourceNotFound", "spec.childResources[1]", "nothings")
	w.mustCondition(name, "Ready", "False", "EarlierSpecServes")
	w.patch(w.things, "a", `{"spec": {"text": "three"}}`)
	w.must(configMaps, "a-0", hasText("three"))

	w.definition("", copies, childRule("InPlace"))
	w.mustCondition(name, "Ready", "True")
}

func TestParentWithoutStatusSubresource(t *testing.T) {
	w := newWorldWithoutThings(t)
	crd := w.parse(w.thingCRD())
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	unstructured.RemoveNestedField(versions[0].(map[string]any), "subresources")
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := w.c.Apply(t.Context(), w.ns, crd); err != nil {
		t.Fatal(err)
	}
	w.start()
	name := w.definition("", copies, childRule("InPlace"))
	w.mustEvent(name, "NoStatusSubresource", "does not have subresource 'Status' enabled")
	w.mustCondition(name, "Ready", "True", "NoStatusSubresource")
	w.thing("a", "count: 1\ntext: one")
	w.must(configMaps, "a-0", hasText("one"))

	w.apply(w.thingCRD())
	w.mustCondition(name, "Ready", "True", "Running")
	w.must(w.things, "a", hasCount(1))
}

func TestUnsupportedIsRefusedByName(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, "childResources: [{apiVersion: v1, resource: configmaps, applyStrategy: ServerSideApply}]")
	w.mustCondition(name, "Accepted", "False", "Unsupported", "server-side apply", "use DynamicApply")
}

func TestCountOfParents(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, childRule("InPlace"))
	for n := range 3 {
		w.thing(fmt.Sprintf("t%d", n), "count: 0\ntext: none")
	}
	cluster.Eventually(t, soon, func() error {
		out, err := w.c.Kubectl(t.Context(), "get", "cc", name, "--no-headers")
		if err != nil {
			return err
		}
		var columns [5]string
		if _, err := fmt.Sscan(out, &columns[0], &columns[1], &columns[2], &columns[3], &columns[4]); err != nil {
			return fmt.Errorf("%q: %w", out, err)
		}
		if columns[1] != "True" || columns[4] != "3" {
			return fmt.Errorf("kubectl shows %q, want Ready True and 3 parents", out)
		}
		return nil
	})
}
