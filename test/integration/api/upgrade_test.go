package api

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestUpgrade stores definitions that metacontroller takes and we refuse, while the
// schema is as open as metacontroller's, and then installs ours: the host must be able
// to write on their status what is wrong, and they must be mendable.
func TestUpgrade(t *testing.T) {
	c := cluster.Get(t)
	// The definition has another group, lest other tests see it open.
	const group = "upgrade.example.com"
	files, err := cluster.ReadFiles(filepath.Join(crds, v1alpha1.GroupName+"_compositecontrollers.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d objects: %v", len(files), err)
	}
	ours := files[0]
	ours.SetName("compositecontrollers." + group)
	set(t, ours, group, "spec", "group")
	set(t, ours, []any{"oldcc"}, "spec", "names", "shortNames")
	env.NoError(t, c.Apply(t.Context(), "", withOpenSchema(t, ours)))

	objects := c.Dynamic().Resource(schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "compositecontrollers"})
	bad := manifests(t, "bad", leastBad)
	refused := func(name string) *unstructured.Unstructured {
		text, ok := bad[name]
		if !ok {
			t.Fatalf("testdata/bad/%s.yaml is missing", name)
		}
		object := text.object(t)
		object.SetAPIVersion(group + "/v1alpha1")
		object.SetName(name)
		return object
	}
	names := []string{"hook-without-backend", "resync-zero", "composite-no-hooks", "webhook-service-without-path", "webhook-service-port",
		"ca-bundle-two-sources"}
	for _, name := range names {
		if _, err := objects.Create(t.Context(), refused(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	env.NoError(t, c.Apply(t.Context(), "", ours))
	cluster.Eventually(t, 30*time.Second, func() error {
		_, err := objects.Create(t.Context(), refused("script-without-text"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the API server still uses the open schema: %v", err)
		}
		return nil
	})
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new(sampleStatus()))
	env.NoError(t, err)
	for _, name := range names {
		stored, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		env.NoError(t, err)
		stored.Object["status"] = status
		written, err := objects.UpdateStatus(t.Context(), stored, metav1.UpdateOptions{})
		if err != nil {
			t.Errorf("%s: its status can't be written: %v", name, err)
			continue
		}
		written.Object["spec"] = manifest(definitionSpecs["compositecontrollers"]).object(t).Object["spec"]
		if _, err := objects.Update(t.Context(), written, metav1.UpdateOptions{}); err != nil {
			t.Errorf("%s: it can't be mended: %v", name, err)
		}
	}
}

// withOpenSchema returns a copy of a definition whose schema takes any object.
func withOpenSchema(t *testing.T, crd *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	open := crd.DeepCopy()
	versions, _, err := unstructured.NestedSlice(open.Object, "spec", "versions")
	env.NoError(t, err)
	versions[0].(map[string]any)["schema"] = map[string]any{
		"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}
	set(t, open, versions, "spec", "versions")
	return open
}

func set(t *testing.T, object *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	env.NoError(t, unstructured.SetNestedField(object.Object, value, path...))
}
