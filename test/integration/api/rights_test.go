package api

import (
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestUser checks that a user of package env has the rights that it was given, and no others.
func TestUser(t *testing.T) {
	e := env.New(t)
	user := e.NewUser("editor")
	if _, err := user.In(env.ConfigMaps).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists ConfigMaps: %v", err)
	}
	user.Bind(e.Namespace, "edit")
	if _, err := user.In(env.ConfigMaps).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("an editor may not list ConfigMaps: %v", err)
	}
	if _, err := user.Dynamic().Resource(env.Namespaces).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an editor of one namespace lists all namespaces: %v", err)
	}
	user.Grant("", "", "namespaces,nodes", "list")
	if _, err := user.Dynamic().Resource(env.Namespaces).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the rule does not count: %v", err)
	}
	if !user.Can("create", env.ConfigMaps) || user.Can("create", env.Namespaces) {
		t.Error("Can does not say what the API server allows")
	}
}

// clusterRoles holds those that Kubernetes' roles view, edit and admin are made of.
var clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}

// probeRole shows with a right that nothing else gives that the roles before it have been aggregated.
const probeRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: aggregate-probe
  labels: {rbac.authorization.k8s.io/aggregate-to-admin: "true", rbac.authorization.k8s.io/aggregate-to-edit: "true"}
rules:
- {apiGroups: [probe.example.com], resources: [probes], verbs: [get]}
`

// TestEditorsMayNotWriteRevisions installs the roles. Editors and admins of a namespace may only read ControllerRevisions there.
func TestEditorsMayNotWriteRevisions(t *testing.T) {
	e := env.New(t)
	for _, role := range []string{"aggregate-libretto-view", "aggregate-probe"} {
		t.Cleanup(func() { e.Delete(clusterRoles, "", role) })
	}
	users := map[string]*env.User{}
	for _, role := range []string{"edit", "admin"} {
		users[role] = e.NewUser(role)
		users[role].Bind(e.Namespace, role)
	}
	waitUntilCan := func(verb string, resource schema.GroupVersionResource) {
		t.Helper()
		for role, user := range users {
			e.Eventually(func() error {
				if !user.Can(verb, resource) {
					return apierrors.NewForbidden(resource.GroupResource(), role, nil)
				}
				return nil
			})
		}
	}
	e.Kubectl("apply", "--server-side", "--force-conflicts", "-f", filepath.Join("..", "..", "..", "manifests", "host", "view.yaml"))
	e.Apply(probeRole)
	waitUntilCan("get", schema.GroupVersionResource{Group: "probe.example.com", Version: "v1", Resource: "probes"})
	waitUntilCan("list", env.Revisions)
	revision := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision", "metadata": map[string]any{"name": "forged"}, "parentPatch": map[string]any{},
	}}
	for role, user := range users {
		for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
			for _, resource := range []schema.GroupVersionResource{env.Revisions, env.ScriptRevisions} {
				if user.Can(verb, resource) {
					t.Errorf("%s of a namespace may %s %s", role, verb, resource.GroupResource())
				}
			}
		}
		if _, err := user.In(env.Revisions).Create(t.Context(), revision, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s of a namespace creates a ControllerRevision: %v", role, err)
		}
	}
}
