package dev

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// copies is a definition that copies labelled ConfigMaps.
const copies = `
apiVersion: v1
kind: ConfigMap
metadata: {name: copy-hooks, namespace: default}
data:
  sync.js: |
    export const sync = ({object}) => ({attachments: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: object.metadata.name + "-copy"}}]})
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: copy}
spec:
  scriptSources: [{configMap: {name: copy-hooks, namespace: default}}]
  resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {copy: "yes"}}}]
  attachments: [{apiVersion: v1, resource: configmaps}, {apiVersion: v1, resource: secrets}]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: original, namespace: default, labels: {copy: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, namespace: default, labels: {copy: "yes"}}
`

// TestPage runs what manifests/page deploys, with the rights that it has there.
func TestPage(t *testing.T) {
	c, file := cluster.Get(t), filepath.Join(t.TempDir(), "copies.yaml")
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	if err := c.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(copies), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("create", "namespace", "libretto")
	kubectl("apply", "-k", root+"manifests/host")
	kubectl("apply", "-k", root+"manifests/page")
	for _, role := range []string{"system:aggregate-to-view", "aggregate-libretto-view"} { // What a cluster's controller adds up to view.
		kubectl("create", "clusterrolebinding", "page:"+role, "--clusterrole="+role, "--serviceaccount=libretto:libretto-page")
	}
	kubectl("apply", "-f", file)
	host, err := c.StartLibretto(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	token := kubectl("-n", "libretto", "create", "token", "libretto-page")
	for _, auth := range config.AuthInfos {
		auth.Token, auth.ClientCertificateData, auth.ClientKeyData = token, nil, nil
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	args := kubectl("-n", "libretto", "get", "deployment", "libretto-page", "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}")
	s := startArgs(t, strings.Fields(args), "KUBECONFIG="+kubeconfig)
	s.eventually("what it may list is shown, and named is what it may not", func() bool {
		return s.is("ConfigMap original", "parent", "ready") && s.is("ConfigMap original-copy", "child", "ready") &&
			s.is("ConfigMap second-copy", "child", "ready") && s.edit.Reason == "Complete" &&
			len(s.problems) == 1 && strings.HasPrefix(s.problems[0], "not shown: secrets is forbidden: ")
	})
	kubectl("create", "clusterrole", "page-secrets", "--verb=list,watch", "--resource=secrets")
	kubectl("create", "clusterrolebinding", "page-secrets", "--clusterrole=page-secrets", "--serviceaccount=libretto:libretto-page")
	kubectl("-n", "default", "create", "secret", "generic", "hidden", "--from-literal=a=hidden")
	s.eventually("it may list them now", func() bool { return len(s.problems) == 0 })
	kubectl("-n", "default", "patch", "configmap", "copy-hooks", "-p", `{"data": {"sync.js": "export const sync = () => ({attachments: []})"}}`)
	s.eventually("the edit is held", func() bool {
		return s.edit.Held && slices.Contains(s.edit.Commands, "libretto rollout approve decoratorcontroller/copy")
	})
	for method, path := range map[string]string{
		http.MethodDelete: "/api/v1/namespaces/default/configmaps/original-copy", http.MethodGet: "/api/v1/namespaces/default/secrets/hidden",
	} {
		request, err := http.NewRequestWithContext(t.Context(), method, s.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s is answered by %s", method, path, response.Status)
		}
	}
}
