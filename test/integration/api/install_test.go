package api

import (
	"encoding/json"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestInstall applies what a user applies, and makes the pod that the Deployment asks for in its namespace, which
// enforces the Pod Security Standard restricted. manifests/metacontroller needs metacontroller's namespace and account.
func TestInstall(t *testing.T) {
	for folder, names := range map[string]struct{ name, namespace, account string }{
		"base":           {"libretto", "libretto", "libretto"},
		"metacontroller": {"libretto-metacontroller", "metacontroller", "metacontroller"},
	} {
		t.Run(folder, func(t *testing.T) {
			c := cluster.Get(t)
			kubectl := func(args ...string) string {
				t.Helper()
				out, err := c.Kubectl(t.Context(), args...)
				env.NoError(t, err)
				return out
			}
			if folder == "metacontroller" {
				kubectl("create", "namespace", names.namespace)
				kubectl("label", "namespace", names.namespace, "pod-security.kubernetes.io/enforce=restricted")
				kubectl("-n", names.namespace, "create", "serviceaccount", names.account)
			}
			kubectl("apply", "--server-side", "-k", filepath.Join("..", "..", "..", "manifests", folder))
			deployment := &unstructured.Unstructured{}
			env.NoError(t, json.Unmarshal([]byte(kubectl("-n", names.namespace, "get", "deployment", names.name, "-o", "json")), &deployment.Object))
			spec, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
			if spec["serviceAccountName"] != names.account {
				t.Errorf("the Deployment runs as %v, want %s", spec["serviceAccountName"], names.account)
			}
			pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "probe"},
				"spec": spec}}
			pods := c.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(names.namespace)
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Errorf("the Deployment's pod is refused: %v", err)
			}
			binding := kubectl("get", "clusterrolebinding", names.name, "-o", "jsonpath={.subjects[0].namespace}/{.subjects[0].name}")
			if want := names.namespace + "/" + names.account; binding != want {
				t.Errorf("the role is bound to %s, want %s", binding, want)
			}
		})
	}
}
