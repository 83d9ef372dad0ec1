package rolling

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// shelf is where the objects of a resource are.
type shelf struct {
	*env.Env
	resource schema.GroupVersionResource
}

func (s *stage) shelf(kind string, global bool) shelf {
	if global {
		return shelf{s.ClusterScope(), s.resource(kind)}
	}
	return shelf{s.Env, s.resource(kind)}
}

// crew is a parent.
type crew struct {
	*definition
	name           string
	parents, parts shelf
	spec           spec
	// left says that its revisions are metacontroller's.
	left bool
}

// spec is what of a parent's spec changes in the tests.
type spec struct {
	count   int
	version string
	// motto is told to the children and is not in spec.template.
	motto string
	// says is what the hook's status is.
	says string
}

// crew gives a parent that is not there yet, and that goes at the end of the test.
func (d *definition) crew(name string) *crew {
	c := &crew{definition: d, name: d.suffix + "-" + name, parents: d.shelf(d.parentKind(), d.clusterParent), parts: d.shelf(d.childKind(), d.clusterChild)}
	d.T.Cleanup(func() { d.Delete(c.parents.resource, c.parents.Namespace, c.name) })
	return c
}

// begun gives a parent with so many children of v1 that are all there and well, which libretto has seen.
func (d *definition) begun(name string, count int) *crew {
	d.T.Helper()
	c := d.crew(name)
	c.play(spec{count: count, version: "v1"})
	c.mustEnd()
	return c
}

// play makes the parent want something else.
func (c *crew) play(next spec) {
	c.T.Helper()
	c.spec = next
	c.Apply(fmt.Sprintf(`
apiVersion: %[1]s/v1
kind: %[2]s
metadata: {name: %[3]s, labels: {cell: %[4]s}}
spec:
  selector: {matchLabels: {crew: %[3]s}}
  count: %[5]d
  motto: %[6]q
  says: %[7]q
  template: {version: %[8]q, metadata: {labels: {crew: %[3]s}}}
`, c.Group, c.parentKind(), c.name, c.suffix, next.count, next.motto, next.says, next.version))
}

// upgrade makes the parent want another version and nothing else.
func (c *crew) upgrade(version string) {
	c.T.Helper()
	next := c.spec
	next.version = version
	c.play(next)
}

func (c *crew) parent() *unstructured.Unstructured {
	c.T.Helper()
	return c.parents.WaitFor(c.parents.resource, c.name, nil)
}

// part is the name of a child.
func (c *crew) part(n int) string { return fmt.Sprintf("%s-%d", c.name, n) }

// children are those that there are, by name.
func (c *crew) children() map[string]*unstructured.Unstructured {
	c.T.Helper()
	return c.parts.List(c.parts.resource, "crew="+c.name)
}

func versionOf(part *unstructured.Unstructured) string {
	version, _, _ := unstructured.NestedString(part.Object, "spec", "version")
	return version
}

// well says whether a child has told that it works, as it is now.
func well(part *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(part.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(part.Object, "status", "conditions")
	return part.GetDeletionTimestamp() == nil && observed == part.GetGeneration() &&
		slices.ContainsFunc(conditions, func(c any) bool { return c.(map[string]any)["status"] == "True" })
}

// The field managers by which the audit log tells one status from another.
const (
	healing  = "healing"
	breaking = "breaking"
)

// heal lets a child say that it works, breaks that it does not.
func (c *crew) heal(n int)   { c.T.Helper(); c.must(c.tell(c.found(n), "True", healing)) }
func (c *crew) breaks(n int) { c.T.Helper(); c.must(c.tell(c.found(n), "False", breaking)) }

func (c *crew) found(n int) *unstructured.Unstructured {
	c.T.Helper()
	return c.parts.WaitFor(c.parts.resource, c.part(n), nil)
}

func (c *crew) must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// tell writes the status of a child, unless it has changed since it was looked at.
func (c *crew) tell(part *unstructured.Unstructured, ready, manager string) error {
	patch := fmt.Sprintf(`{"metadata": {"resourceVersion": %q}, "status": {"observedGeneration": %d, "conditions": [{"type": "Ready", "status": %q}]}}`,
		part.GetResourceVersion(), part.GetGeneration(), ready)
	_, err := c.parts.In(c.parts.resource).Patch(c.T.Context(), part.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

// healAll heals every child that is there and not well. One that changes meanwhile has to wait for the next time.
func (c *crew) healAll() {
	c.T.Helper()
	for _, part := range c.children() {
		if part.GetDeletionTimestamp() != nil || well(part) {
			continue
		}
		if err := c.tell(part, "True", healing); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			c.must(err)
		}
	}
}

// mustBe waits until just these versions are there, in the order of the children.
func (c *crew) mustBe(versions ...string) {
	c.T.Helper()
	cluster.Eventually(c.T, env.Timeout, func() error { return c.are(versions...) })
}

func (c *crew) are(versions ...string) error {
	c.T.Helper()
	children := c.children()
	var found []string
	for n := range max(len(versions), len(children)) {
		part := children[c.part(n)]
		switch {
		case part == nil:
			found = append(found, "missing")
		case part.GetDeletionTimestamp() != nil:
			found = append(found, "deleted")
		default:
			found = append(found, versionOf(part))
		}
	}
	if !slices.Equal(found, versions) {
		return fmt.Errorf("children of %s are %v, want %v", c.name, found, versions)
	}
	return nil
}

// mustSay waits until the parent's condition is about its present generation and says so.
func (c *crew) mustSay(status string, parts ...string) {
	c.T.Helper()
	cluster.Eventually(c.T, env.Timeout, func() error { return c.says(status, parts...) })
}

func (c *crew) says(status string, parts ...string) error {
	c.T.Helper()
	parent := c.parent()
	if observed, _, _ := unstructured.NestedInt64(parent.Object, "status", "observedGeneration"); observed != parent.GetGeneration() {
		return fmt.Errorf("the status of %s is about generation %d of %d", c.name, observed, parent.GetGeneration())
	}
	return env.CheckCondition(c.ConditionOf(parent, "Updated"), status, parts...)
}

// mustWaitFor waits until the rollout says that it waits for a child.
func (c *crew) mustWaitFor(n int, parts ...string) {
	c.T.Helper()
	c.mustSay("False", append([]string{"RolloutWaiting", "waits for", c.part(n)}, parts...)...)
}

// mustEnd heals whoever needs it until the rollout is over, and waits for that.
func (c *crew) mustEnd() {
	c.T.Helper()
	cluster.Eventually(c.T, env.Timeout, func() error {
		c.healAll()
		return c.ended()
	})
}

// ended says what is left to do.
func (c *crew) ended() error {
	c.T.Helper()
	if err := c.are(slices.Repeat([]string{c.spec.version}, c.spec.count)...); err != nil {
		return err
	}
	for name, part := range c.children() {
		if !well(part) {
			return fmt.Errorf("%s is not well", name)
		}
	}
	return errors.Join(c.claimed(), c.over())
}

// over says whether libretto tells of the end, unless what it tells is up to the hook.
func (c *crew) over() error {
	c.T.Helper()
	if c.spec.says == "own" {
		return c.says("Unknown", "AskAgain")
	}
	if seen, _, _ := unstructured.NestedInt64(c.parent().Object, "status", "well"); c.spec.says == "" && seen != int64(c.spec.count) {
		return fmt.Errorf("%d children of %s are well in libretto's eyes, want %d", seen, c.name, c.spec.count)
	}
	return c.says("True", "OnLatestRevision: latest ControllerRevision: "+c.latest())
}

// mustBeQuiet shows that further passes make no request.
func (c *crew) mustBeQuiet() {
	c.T.Helper()
	c.touch("settle")
	mark := c.Mark()
	for n := range 3 {
		c.touch(fmt.Sprint(n))
	}
	requests := c.Requests(mark).Filter(func(r cluster.Request) bool {
		return r.Resource != env.CompositeControllers.Resource // The number of its parents is told there, a little later.
	})
	if len(requests) > 0 {
		c.T.Errorf("passes over %s that has nothing to do make requests:\n%s", c.name, requests)
	}
}

// touch makes passes over the parent, one for itself and one for its children, and waits for them.
func (c *crew) touch(value string) {
	c.T.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"touched": %q}}}`, value)
	before := c.Reconciles(c.definition.name, "success")
	c.parents.Patch(c.parents.resource, c.name, patch)
	c.WaitForReconciles(c.definition.name, before, 1)
	before = c.Reconciles(c.definition.name, "success")
	for name := range c.children() {
		c.parts.Patch(c.parts.resource, name, patch)
	}
	c.WaitForReconciles(c.definition.name, before, 1)
}
