package scripts_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// env is an API server, a library and one tree of it, in a bubble where time
// passes only while everybody waits.
type env struct {
	t       *testing.T
	client  *fake.Clientset
	library *scripts.Library
	engine  *fakeEngine
	tree    *scripts.Tree
	changes chan struct{}
}

// step is something that happens to a env.
type step func(*env)

func newEnv(t *testing.T) *env {
	t.Helper()
	registry, engine := fakeRegistry(t)
	client := fake.NewClientset()
	return &env{
		t: t, client: client, engine: engine,
		library: scripts.NewLibrary(scripts.Config{
			Client: client, Metadata: metadataOf(t, client), Engines: registry, Root: t.TempDir(), Log: logr.Discard(),
		}),
		changes: make(chan struct{}, 1000),
	}
}

func (w *env) open(spec scripts.Spec) *scripts.Tree {
	w.t.Helper()
	tree, err := w.library.Open(spec, func() { w.changes <- struct{}{} })
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.t.Cleanup(tree.Close)
	synctest.Wait()
	return tree
}

// play opens a tree and goes through the steps, letting everything settle after each.
func (w *env) play(spec scripts.Spec, steps ...step) {
	w.t.Helper()
	w.tree = w.open(spec)
	for _, do := range steps {
		do(w)
		synctest.Wait()
	}
}

// changed waits for the next change that no test has waited for yet.
func changed(w *env) { <-w.changes }

// another waits for a change that time brings.
func another(w *env) {
	for len(w.changes) > 0 {
		<-w.changes
	}
	<-w.changes
}

// put writes a.data of ConfigMap a/name, creating it if need be.
func put(name string, data map[string]string) step { return putIn("a", name, data) }

func putIn(namespace, name string, data map[string]string) step {
	return func(w *env) {
		api := w.client.CoreV1().ConfigMaps(namespace)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
		_, err := api.Create(context.Background(), object, metav1.CreateOptions{})
		if err != nil {
			_, err = api.Update(context.Background(), object, metav1.UpdateOptions{})
		}
		if err != nil {
			w.t.Fatalf("put %s: %v", name, err)
		}
	}
}

func sync(text string) step { return put("one", map[string]string{"sync.fake": text}) }

func label(w *env) {
	patch := []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)
	_, err := w.client.CoreV1().ConfigMaps("a").Patch(context.Background(), "one", "application/merge-patch+json", patch, metav1.PatchOptions{})
	if err != nil {
		w.t.Fatalf("label: %v", err)
	}
}

func remove(w *env) {
	if err := w.client.CoreV1().ConfigMaps("a").Delete(context.Background(), "one", metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("delete: %v", err)
	}
}

// text returns what the tree's sync hook was compiled from, or "" if none serves.
func (w *env) text() string {
	revision := w.tree.Current()
	if revision == nil {
		return ""
	}
	response, err := revision.Programs["sync"].Run(context.Background(), engines.Call{})
	if err != nil {
		w.t.Fatalf("run: %v", err)
	}
	return response.Body.(string)
}

// from returns a spec with one hook and the ConfigMaps of those names.
func from(names ...string) scripts.Spec {
	spec := scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Path: "sync.fake"}}}
	for _, name := range names {
		spec.Sources = append(spec.Sources, scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: "a", Name: name}})
	}
	return spec
}
