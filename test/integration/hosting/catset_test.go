package hosting

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestCatSet takes the steps of make demo.
func TestCatSet(t *testing.T) {
	e := env.New(t)
	root, err := cluster.Root()
	env.NoError(t, err)
	e.Namespace = "demo" // as examples/catset/catset.yaml says
	e.Start()
	e.Kubectl("apply", "-k", filepath.Join(root, "examples/catset"))
	t.Cleanup(func() {
		// The namespaces stay: their deletion takes longer than all of this, and a second run would meet it.
		if _, err := e.Cluster.Kubectl(context.Background(), "delete", "-n=demo", "catset/nginx", "cc/catset-controller"); err != nil {
			t.Error(err)
		}
	})
	e.WaitForCondition("catset-controller", "Ready", "True")
	e.Kubectl("apply", "-f", filepath.Join(root, "examples/catset/catset.yaml"))
	mustPods(e, 3)

	e.Kubectl("scale", "catset", "nginx", "-n", "demo", "--replicas=5")
	uids := mustPods(e, 5)

	e.Delete(env.Pods, "demo", "nginx-1")
	e.WaitForDeletion(env.Pods, "nginx-1", uids["nginx-1"])
	uids = mustPods(e, 5)

	script := read(t, filepath.Join(root, "examples/catset/sync.js"))
	edit := func(from, to string) {
		t.Helper()
		if !strings.Contains(script, from) {
			t.Fatalf("examples/catset/sync.js no longer has %q", from)
		}
		patchHooks(e, strings.Replace(script, from, to, 1))
	}
	edit("labels: { ...metadata.labels }", `labels: { ...metadata.labels, ...(ordinal === 0 && { role: "first" }) }`)
	e.WaitFor(env.Pods, "nginx-0", func(o *unstructured.Unstructured) error {
		if o.GetLabels()["role"] != "first" || o.GetUID() == uids["nginx-0"] {
			return fmt.Errorf("labels %v: the edited script has had no effect", o.GetLabels())
		}
		return nil
	})
	uids = mustPods(e, 5)

	edit("export function sync(request) {", "export function sync(request {")
	e.WaitForCondition("catset-controller", "ScriptsReady", "False", "ScriptInvalid", "sync.js:9:", "goes on serving")
	for name, uid := range mustPods(e, 5) {
		if uids[name] != uid {
			t.Errorf("%s was touched by a script that does not load", name)
		}
	}
	e.Delete(env.Pods, "demo", "nginx-4")
	e.WaitForDeletion(env.Pods, "nginx-4", uids["nginx-4"])
	mustPods(e, 5)

	patchHooks(e, script)
	e.WaitForCondition("catset-controller", "ScriptsReady", "True")
}

// mustPods waits until just the Pods nginx-0 and so on are there, each Ready, and gives their UIDs.
func mustPods(e *env.Env, count int) map[string]types.UID {
	e.T.Helper()
	uids := map[string]types.UID{}
	e.Eventually(func() error {
		clear(uids)
		list, err := e.In(env.Pods).List(e.T.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if !ready(&pod) {
				return fmt.Errorf("%s is not ready", pod.GetName())
			}
			uids[pod.GetName()] = pod.GetUID()
		}
		for ordinal := range count {
			if uids[fmt.Sprintf("nginx-%d", ordinal)] == "" {
				return fmt.Errorf("nginx-%d is missing", ordinal)
			}
		}
		if len(uids) != count {
			return fmt.Errorf("%d pods, want %d", len(uids), count)
		}
		return nil
	})
	return uids
}

func ready(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			return c["status"] == "True" && pod.GetDeletionTimestamp() == nil
		}
	}
	return false
}

func patchHooks(e *env.Env, script string) {
	e.T.Helper()
	patch := fmt.Sprintf(`{"data": {"sync.js": %s}}`, env.Quote(script))
	_, err := e.Cluster.Dynamic().Resource(env.ConfigMaps).Namespace("catset").Patch(e.T.Context(), "catset-hooks", types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	e.NoError(err)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	env.NoError(t, err)
	return string(data)
}
