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

// scope is a resource in the namespace of its objects, if they have one.
type scope struct {
	*env.Env
	resource schema.GroupVersionResource
}

func objectsOf(e *env.Env, kind string, global bool) scope {
	if global {
		return scope{e.ClusterScope(), e.Resource(kind)}
	}
	return scope{e, e.Resource(kind)}
}

// parent is a parent of Replicas.
type parent struct {
	*definition
	name                    string
	parentScope, childScope scope
	spec                    spec
	// text is the letter of the text in force.
	text string
	// legacy parents have revisions that metacontroller made.
	legacy bool
}

// spec has the fields of a parent's spec that the tests change.
type spec struct {
	count   int
	version string
	// motto is a field of the children that is not in spec.template.
	motto string
	// says selects the hook's status: empty, nothing or own.
	says string
}

// newParent returns a parent that does not exist yet, and that is deleted at the end of the test.
func (d *definition) newParent(name string) *parent {
	c := &parent{definition: d, name: d.suffix + "-" + name, parentScope: objectsOf(d.Env, d.parentKind(), d.clusterParent),
		childScope: objectsOf(d.Env, d.childKind(), d.clusterChild)}
	d.T.Cleanup(func() { d.Delete(c.parentScope.resource, c.parentScope.Namespace, c.name) })
	return c
}

// newReadyParent creates a parent with so many children of v1, and waits until libretto has observed that all are ready.
func (d *definition) newReadyParent(name string, count int) *parent {
	d.T.Helper()
	c := d.newParent(name)
	c.update(spec{count: count, version: "v1"})
	c.waitForRollout()
	return c
}

// update applies another spec.
func (c *parent) update(next spec) {
	c.T.Helper()
	c.spec = next
	c.Apply(fmt.Sprintf(`
apiVersion: %[1]s/v1
kind: %[2]s
metadata: {name: %[3]s, labels: {cell: %[4]s}}
spec:
  selector: {matchLabels: {set: %[3]s}}
  count: %[5]d
  motto: %[6]q
  says: %[7]q
  template: {version: %[8]q, metadata: {labels: {set: %[3]s}}}
`, c.Group, c.parentKind(), c.name, c.suffix, next.count, next.motto, next.says, next.version))
}

// updateVersion changes the version alone.
func (c *parent) updateVersion(version string) {
	c.T.Helper()
	next := c.spec
	next.version = version
	c.update(next)
}

func (c *parent) live() *unstructured.Unstructured {
	c.T.Helper()
	return c.parentScope.WaitFor(c.parentScope.resource, c.name, nil)
}

// childName returns the name of a child.
func (c *parent) childName(n int) string { return fmt.Sprintf("%s-%d", c.name, n) }

// children returns the existing children by name.
func (c *parent) children() map[string]*unstructured.Unstructured {
	c.T.Helper()
	return c.childScope.List(c.childScope.resource, "set="+c.name)
}

func versionOf(child *unstructured.Unstructured) string {
	version, _, _ := unstructured.NestedString(child.Object, "spec", "version")
	return version
}

// isReady reports whether a child is ready in its present generation.
func isReady(child *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(child.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(child.Object, "status", "conditions")
	return child.GetDeletionTimestamp() == nil && observed == child.GetGeneration() &&
		slices.ContainsFunc(conditions, func(c any) bool { return c.(map[string]any)["status"] == "True" })
}

// The field managers that distinguish the statuses in the audit log.
const (
	readyManager   = "ready"
	unreadyManager = "unready"
)

// setReady and setUnready write the status of a child.
func (c *parent) setReady(n int) {
	c.T.Helper()
	c.NoError(c.patchReady(c.child(n), "True", readyManager))
}
func (c *parent) setUnready(n int) {
	c.T.Helper()
	c.NoError(c.patchReady(c.child(n), "False", unreadyManager))
}

func (c *parent) child(n int) *unstructured.Unstructured {
	c.T.Helper()
	return c.childScope.WaitFor(c.childScope.resource, c.childName(n), nil)
}

// patchReady writes the status of a child. It returns a conflict if the child has changed since it was read.
func (c *parent) patchReady(child *unstructured.Unstructured, ready, manager string) error {
	patch := fmt.Sprintf(`{"metadata": {"resourceVersion": %q}, "status": {"observedGeneration": %d, "conditions": [{"type": "Ready", "status": %q}]}}`,
		child.GetResourceVersion(), child.GetGeneration(), ready)
	_, err := c.childScope.In(c.childScope.resource).Patch(c.T.Context(), child.GetName(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

// setAllReady writes the status of all children that are not ready. One that changes meanwhile is left to the next call.
func (c *parent) setAllReady() {
	c.T.Helper()
	for _, child := range c.children() {
		if child.GetDeletionTimestamp() != nil || isReady(child) {
			continue
		}
		if err := c.patchReady(child, "True", readyManager); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			c.NoError(err)
		}
	}
}

// waitForVersions waits until the children have just these versions, in their order.
func (c *parent) waitForVersions(versions ...string) {
	c.T.Helper()
	c.Eventually(func() error { return c.checkVersions(versions...) })
}

func (c *parent) checkVersions(versions ...string) error {
	c.T.Helper()
	children := c.children()
	var found []string
	for n := range max(len(versions), len(children)) {
		child := children[c.childName(n)]
		switch {
		case child == nil:
			found = append(found, "missing")
		case child.GetDeletionTimestamp() != nil:
			found = append(found, "deleted")
		default:
			found = append(found, versionOf(child))
		}
	}
	if !slices.Equal(found, versions) {
		return fmt.Errorf("children of %s are %v, want %v", c.name, found, versions)
	}
	return nil
}

// waitForUpdated waits until the condition Updated of the present generation has the status and the parts.
func (c *parent) waitForUpdated(status string, parts ...string) {
	c.T.Helper()
	c.Eventually(func() error { return c.checkUpdated(status, parts...) })
}

func (c *parent) checkUpdated(status string, parts ...string) error {
	c.T.Helper()
	parent := c.live()
	if observed, _, _ := unstructured.NestedInt64(parent.Object, "status", "observedGeneration"); observed != parent.GetGeneration() {
		return fmt.Errorf("the status of %s is about generation %d of %d", c.name, observed, parent.GetGeneration())
	}
	return env.CheckCondition(c.ConditionOf(parent, "Updated"), status, parts...)
}

// waitForWaiting waits until the rollout reports that it waits for a child.
func (c *parent) waitForWaiting(n int, parts ...string) {
	c.T.Helper()
	c.waitForUpdated("False", append([]string{"RolloutWaiting", "waits for", c.childName(n)}, parts...)...)
}

// waitForRollout sets children ready until the rollout is complete.
func (c *parent) waitForRollout() {
	c.T.Helper()
	c.Eventually(func() error {
		c.setAllReady()
		return c.checkRollout()
	})
}

// checkRollout returns what keeps the rollout from being complete.
func (c *parent) checkRollout() error {
	c.T.Helper()
	if err := c.checkVersions(slices.Repeat([]string{c.spec.version}, c.spec.count)...); err != nil {
		return err
	}
	for name, child := range c.children() {
		if !isReady(child) {
			return fmt.Errorf("%s is not ready", name)
		}
	}
	return errors.Join(c.checkClaims(), c.checkCompleted())
}

// checkCompleted checks that the status reports the end, unless the hook has a condition of its own.
func (c *parent) checkCompleted() error {
	c.T.Helper()
	if c.spec.says == "own" {
		return c.checkUpdated("Unknown", "AskAgain")
	}
	if seen, _, _ := unstructured.NestedInt64(c.live().Object, "status", "ready"); c.spec.says == "" && seen != int64(c.spec.count) {
		return fmt.Errorf("%d children of %s are ready in status.ready, want %d", seen, c.name, c.spec.count)
	}
	return c.checkUpdated("True", "OnLatestRevision: latest ControllerRevision: "+c.latest())
}

// expectQuiet fails the test if further reconciles make requests.
func (c *parent) expectQuiet() {
	c.T.Helper()
	c.touch("settle")
	mark := c.Mark()
	for n := range 3 {
		c.touch(fmt.Sprint(n))
	}
	requests := c.Requests(mark).Filter(func(r cluster.Request) bool {
		return r.Resource != env.CompositeControllers.Resource // Its number of parents is written there a little later.
	})
	if len(requests) > 0 {
		c.T.Errorf("passes over %s that has nothing to do make requests:\n%s", c.name, requests)
	}
}

// touch causes reconciles of the parent, one for itself and one for its children, and waits for them.
func (c *parent) touch(value string) {
	c.T.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"touched": %q}}}`, value)
	before := c.Reconciles(c.definition.name, "success")
	c.parentScope.Patch(c.parentScope.resource, c.name, patch)
	c.WaitForReconciles(c.definition.name, before, 1)
	before = c.Reconciles(c.definition.name, "success")
	for name := range c.children() {
		c.childScope.Patch(c.childScope.resource, name, patch)
	}
	c.WaitForReconciles(c.definition.name, before, 1)
}
