package rights

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// hostile answers with what the team may not write or read: a ConfigMap elsewhere, a Secret, and what Secrets elsewhere hold.
const hostile = `
export const sync = ({object: {metadata: {name}}, related}) => ({attachments: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-page"}, data: {page: JSON.stringify(related)}},
  ATTACK
]});
export const customize = () => ({relatedResources: RELATED});`

// TestTenants applies each set-up of examples/tenants, as those who run the cluster and as the team, and has the team attack another namespace:
// by scripts, and by definitions where it may write them. The team gets no further than its own namespace.
func TestTenants(t *testing.T) {
	for _, c := range []struct{ folder, namespace, user, definition string }{
		{folder: "team", namespace: "site", user: "anna"},
		{folder: "accounts", namespace: "shop", user: "ben"},
		{folder: "own", namespace: "blog", user: "cleo", definition: "pages"},
	} {
		t.Run(c.folder, func(t *testing.T) {
			root, err := cluster.Root()
			if err != nil {
				t.Fatal(err)
			}
			r := &exampleRun{Env: env.New(t), folder: filepath.Join(root, "examples", "tenants", c.folder)}
			victim := r.InNamespace(r.Cluster.Namespace(t))
			victim.Apply("{apiVersion: v1, kind: Secret, metadata: {name: kept}, stringData: {text: " + canary + "}}")
			host := r.NewUser("host")
			impersonatesBefore(r.Env, host)
			r.NoError(r.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "rbac", "tenants.yaml")))
			t.Cleanup(func() {
				if _, err := r.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait=false", "-k", r.folder); err != nil {
					t.Error(err)
				}
			})
			r.Kubectl("apply", "-f", filepath.Join(r.folder, "platform.yaml"))
			r.rbac("--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
			r.rbac("-f", r.folder, "--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
			team := r.InNamespace(c.namespace)
			as := "--as=" + c.user
			r.Eventually(func() error { // The API server knows of the bindings a little later.
				_, err := r.Cluster.Kubectl(t.Context(), as, "apply", "-f", filepath.Join(r.folder, "team.yaml"))
				return err
			})
			r.Start("--kubeconfig", host.Kubeconfig(), "--namespace", r.Namespace, "--script-preview=false") // That would hold the attacks.
			hasPage := func(want string) env.Check { return env.HasField(want, "data", "page") }
			team.WaitFor(env.ConfigMaps, "front-page", hasPage("<h1>front</h1>"))
			before := contentsOf(victim, env.ConfigMaps, env.Secrets)

			for refused, child := range map[string]string{
				`metadata.namespace: is "` + victim.Namespace: `{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "new", namespace: "` + victim.Namespace + `"}}`,
				"v1 Secret is not among":                      `{apiVersion: "v1", kind: "Secret", metadata: {name: "new"}}`,
			} {
				putScript(team, as, strings.NewReplacer("ATTACK", child, "RELATED", "[]").Replace(hostile))
				team.WaitForEvent("front", "SyncError", refused)
			}
			if c.definition != "" {
				attackByDefinitions(team, as, victim.Namespace)
			}
			if after := contentsOf(victim, env.ConfigMaps, env.Secrets); !maps.Equal(before, after) {
				t.Errorf("the victim's objects were %v, and are %v", before, after)
			}
			for name, object := range team.List(env.ConfigMaps, "") {
				if strings.Contains(fmt.Sprint(object.Object), canary) {
					t.Errorf("ConfigMap %s has what is secret", name)
				}
			}
		})
	}
}

// putScript has a team put a script into its ConfigMap.
func putScript(team *env.Env, as, script string) {
	team.T.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	object.SetName("pages")
	object.SetNamespace(team.Namespace)
	team.NoError(unstructured.SetNestedField(object.Object, script, "data", "pages.js"))
	text, err := object.MarshalJSON()
	team.NoError(err)
	file := filepath.Join(team.T.TempDir(), "attack.json")
	team.NoError(os.WriteFile(file, text, 0o600))
	team.Kubectl(as, "apply", "-f", file)
}

// attackByDefinitions has a team write definitions that reach out of its namespace. Each is refused, or sees nothing.
func attackByDefinitions(team *env.Env, as, victim string) {
	team.T.Helper()
	for name, spec := range map[string]string{
		"account":  "serviceAccountRef: {name: account, namespace: " + victim + "}",
		"related":  "relatedResources: [{apiVersion: v1, resource: secrets, namespace: " + victim + "}]",
		"selector": "relatedResources: [{apiVersion: v1, resource: secrets, namespaceSelector: {}}]",
		"scripts":  "scriptSources: [{configMap: {name: pages, namespace: " + victim + "}}]",
	} {
		file := filepath.Join(team.T.TempDir(), name+".yaml")
		team.NoError(os.WriteFile(file, []byte(`
apiVersion: libretto.dev/v1alpha1
kind: DecoratorController
metadata: {name: attack, namespace: `+team.Namespace+`}
spec:
  resources: [{apiVersion: v1, resource: services}]
  attachments: [{apiVersion: v1, resource: configmaps}]
  `+spec+`
  hooks: {sync: {version: v2, script: {inline: "export const sync = () => ({attachments: []})", engine: JavaScript}}}
`), 0o600))
		if _, err := team.Cluster.Kubectl(team.T.Context(), as, "apply", "-f", file); err == nil || !strings.Contains(err.Error(), "must be left out") {
			team.T.Errorf("%s: error %v, want that it is to be left out", name, err)
		}
	}
	if _, err := team.Cluster.Kubectl(team.T.Context(), as, "-n", victim, "get", "namespaceddecoratorcontrollers"); err == nil {
		team.T.Error("the team may read definitions elsewhere")
	}
	team.Kubectl(as, "-n", team.Namespace, "patch", "namespaceddecoratorcontrollers", "pages", "--type=merge",
		`-p={"spec": {"hooks": {"customize": {"version": "v2", "script": {"path": "pages.js"}}}}}`)
	for _, related := range []string{
		`[{apiVersion: "v1", resource: "secrets", namespace: "` + victim + `"}]`, `[{apiVersion: "v1", resource: "secrets", namespaceSelector: {}}]`,
		`[{apiVersion: "v1", resource: "secrets"}]`, `[{apiVersion: "v1", resource: "namespaces"}]`,
	} {
		putScript(team, as, strings.NewReplacer("ATTACK", "", "RELATED", related).Replace(hostile)+"\n//"+related)
		team.Eventually(func() error {
			failures := team.WaitForNamespacedCondition(env.Decorator, "pages", "ParentsSynced", "False").Message
			if !strings.Contains(failures, "relatedResources") && !strings.Contains(failures, "secrets") {
				return errors.New(failures)
			}
			return nil
		})
	}
}
