package guide

import (
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// built returns kind and name of each object of a folder of manifests.
func built(t *testing.T, folder string) (objects []string) {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("../../manifests", folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all.Resources() {
		objects = append(objects, object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName())
	}
	return objects
}

// TestOverlay checks that what stands in for metacontroller has objects of its own alone: applying it takes none over, from
// metacontroller or from manifests/base, and deleting it removes none of theirs.
func TestOverlay(t *testing.T) {
	want := []string{
		"ClusterRole /libretto-metacontroller",
		"ClusterRoleBinding /libretto-metacontroller",
		"ClusterRole /aggregate-libretto-view-metacontroller",
		"Deployment metacontroller/libretto-metacontroller",
	}
	overlay, base := built(t, "metacontroller"), built(t, "base")
	slices.Sort(want)
	slices.Sort(overlay)
	if !slices.Equal(overlay, want) {
		t.Errorf("manifests/metacontroller has %q, want %q", overlay, want)
	}
	for _, object := range overlay {
		if slices.Contains(base, object) {
			t.Errorf("manifests/base has %s too", object)
		}
	}
	for _, object := range []string{"Namespace /libretto", "ServiceAccount libretto/libretto", "Deployment libretto/libretto"} {
		if !slices.Contains(base, object) {
			t.Errorf("manifests/base lacks %s: %q", object, base)
		}
	}
}
