package rolling

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/env"
)

var roles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}

// rolesHook makes two Roles that may get what the parent's spec.resources says.
const rolesHook = `
export const sync = ({parent}) => ({status: {}, children: ["a", "b"].map(name => ({
  apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: {name: parent.metadata.name + "-" + name},
  rules: [{apiGroups: [""], resources: parent.spec.resources, verbs: ["get"]}],
}))});`

// grantsSecrets reports an error if a Role of the test's namespace may get Secrets.
func grantsSecrets(e *env.Env) error {
	for name, role := range e.List(roles, "") {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for _, rule := range rules {
			if resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources"); slices.Contains(resources, "secrets") {
				return fmt.Errorf("role %s may get secrets", name)
			}
		}
	}
	return nil
}

// grants checks what a Role may get.
func grants(resource string) env.Check {
	return env.HasField(fmt.Sprintf("[map[apiGroups:[] resources:[%s] verbs:[get]]]", resource), "rules")
}

// TestEditedRevisions lets a user who has no right on the parents edit the ControllerRevisions that their children, which
// are Roles, are made from.
func TestEditedRevisions(t *testing.T) {
	e := newEnv(t)
	e.Apply(env.CRD(e.Group, "Grant", "Namespaced"))
	e.DefineReady(env.Composite, "", "generateSelector: true",
		fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: grants, revisionHistory: {fieldPaths: [spec.resources]}}", e.Group),
		"childResources: [{apiVersion: rbac.authorization.k8s.io/v1, resource: roles, updateStrategy: {method: RollingInPlace, partition: 1}}]",
		env.Hooks(rolesHook, "sync"))
	grant := e.ApplyCustom("Grant", "team", "", "resources: [configmaps]")
	e.WaitFor(roles, "team-b", grants("configmaps"))
	e.ApplyCustom("Grant", "team", "", "resources: [services]")
	e.WaitFor(roles, "team-a", grants("services"))
	old, latest := revisionWith(e, grant, "configmaps"), revisionWith(e, grant, "services")

	user := e.NewUser("editor")
	user.Bind(e.Namespace, "edit")
	_, err := user.In(env.Revisions).Patch(t.Context(), old, types.MergePatchType, []byte(`{"parentPatch": {}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the ClusterRole edit lets a user patch ControllerRevisions: %v", err)
	}
	user.Grant(e.Namespace, env.Revisions.Group, env.Revisions.Resource, "create", "patch")
	edit := func(name string) {
		t.Helper()
		patch := []byte(`{"parentPatch": {"spec": {"resources": ["secrets"]}}}`)
		_, err := user.In(env.Revisions).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		e.NoError(err)
	}
	edit(old)
	e.WaitForEvent("team", "RevisionInvalid", old, "is not used", "delete it")
	edit(latest)
	e.WaitForEvent("team", "RevisionInvalid", latest, "is written again")
	e.WaitFor(env.Revisions, latest, env.HasField("[services]", "parentPatch", "spec", "resources"))
	orphan := forgedRevision(e, grant, "forged")
	_, err = user.In(env.Revisions).Create(t.Context(), orphan, metav1.CreateOptions{})
	e.NoError(err)
	e.Patch(e.Resource("Grant"), "team", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	e.WaitForQuiet()
	e.WaitFor(env.Revisions, "forged", env.OwnedBy(nil))
	e.NoError(grantsSecrets(e))
	e.WaitFor(roles, "team-a", grants("services"))
	e.WaitFor(roles, "team-b", grants("configmaps"))

	// The way out: without the edited revision the rollout goes on as ever.
	e.Delete(env.Revisions, e.Namespace, old)
	e.ApplyCustom("Grant", "team", "", "resources: [pods]")
	e.WaitFor(roles, "team-a", grants("pods"))
	e.NoError(grantsSecrets(e))
}

// revisionWith returns the name of a parent's revision with that resource.
func revisionWith(e *env.Env, owner *unstructured.Unstructured, resource string) (name string) {
	e.T.Helper()
	e.Eventually(func() error {
		for found, revision := range e.List(env.Revisions, "controller-uid="+string(owner.GetUID())) {
			if env.HasField("["+resource+"]", "parentPatch", "spec", "resources")(revision) == nil {
				name = found
				return nil
			}
		}
		return fmt.Errorf("no revision of %s with %s", owner.GetName(), resource)
	})
	return name
}

// forgedRevision returns a ControllerRevision without an owner that has all labels of the parent's, and lists its children.
func forgedRevision(e *env.Env, parent *unstructured.Unstructured, name string) *unstructured.Unstructured {
	e.T.Helper()
	return e.Parse(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata:
  name: %s
  labels:
    controller-uid: %s
    metacontroller.k8s.io/apiGroup: %s
    metacontroller.k8s.io/resource: grants
    metacontroller.k8s.io/composite-controller: %s
parentPatch: {spec: {resources: [secrets]}}
children: [{apiGroup: rbac.authorization.k8s.io, kind: Role, names: [team-a, team-b]}]
`, name, parent.GetUID(), e.Group, e.Namespace))
}
