package kinds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	// untouched is how long a client may take to replace what it has created.
	untouched = 250 * time.Millisecond
	// started is how long a start may take to be told with one write.
	started = time.Second
)

// TestCreatedAndReplaced stands for clients, as metacontroller's tests are, that create a definition and replace it a
// moment later with the version that the creation returned.
func TestCreatedAndReplaced(t *testing.T) {
	w := newScene(t)
	definitions := w.Cluster.Dynamic().Resource(env.CompositeControllers)
	for n := range 5 {
		name := fmt.Sprintf("%s-%d", w.Namespace, n)
		ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
		events, err := definitions.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		w.Apply(fmt.Sprintf("apiVersion: %s\nkind: CompositeController\nmetadata: {name: %s}\nspec:\n%s", env.CompositeControllers.GroupVersion(), name,
			env.Indent(w.parentsAre(composite, "none")+"\n"+hooks(`export const sync = () => ({children: []});`, "sync"))))
		var status any
		for event := range events.ResultChan() {
			object := event.Object.(*unstructured.Unstructured)
			if reflect.DeepEqual(object.Object["status"], status) {
				continue
			}
			status = object.Object["status"]
			took, c := time.Since(before), w.ConditionOf(object, "Ready")
			if took < untouched {
				t.Errorf("the status was written %s after the creation: %v", took, c)
			}
			if c.Status == metav1.ConditionTrue {
				break
			}
			if took < started {
				t.Errorf("a start was told by more than one write, first %s after the creation: %v", took, c)
			}
		}
		cancel()
		if status == nil {
			t.Error("the start was never told")
		}
	}
}

// TestDefinitionThatCanNotStart is told in time.
func TestDefinitionThatCanNotStart(t *testing.T) {
	w := newScene(t)
	name := w.Namespace
	w.applyDefinition(decorator, name, "resources: [{apiVersion: example.com/v1, resource: missing}]", hooks(`export const sync = () => ({});`, "sync"))
	w.mustCondition(decorator, name, "Accepted", "False", "ResourceNotFound")
	w.applyDefinition(decorator, name, fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]\nscriptSources: [{configMap: {namespace: default, name: not-there}}]", w.Group),
		"hooks: {sync: {script: {path: sync.js}}}")
	w.mustCondition(decorator, name, "Ready", "False", "ScriptsNotReady")
}

// TestDefinitionsWithoutAStatus runs with CustomResourceDefinitions shaped as metacontroller's: definitions whose status
// has no fields, or none at all. Nothing is written again and again. With ours the status is there.
func TestDefinitionsWithoutAStatus(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := cluster.ReadFiles(filepath.Join(root, "manifests", "crd", "metacontroller.k8s.io_compositecontrollers.yaml"))
	if err != nil || len(ours) != 1 {
		t.Fatalf("%d objects, %v", len(ours), err)
	}
	w := newScene(t)
	t.Cleanup(func() {
		if err := w.Cluster.Apply(context.Background(), "", ours[0]); err != nil {
			t.Error(err)
		}
	})
	for what, served := range map[string]bool{"schema": true, "subresources": false} {
		t.Run(what, func(t *testing.T) {
			w := w.with(t)
			theirs := ours[0].DeepCopy()
			withoutStatus(t, theirs, what)
			w.replace(theirs)
			mark := w.Mark()
			name := w.Namespace + "-" + what
			w.object("Thing", what, "set: "+what, fmt.Sprintf("selector: {matchLabels: {app: %q}}", what))
			w.applyDefinition(composite, name, w.parentsAre(composite, what), hooks(`
export const sync = ({parent}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name, labels: {app: parent.metadata.name}}}]});`, "sync"))
			w.WaitFor(env.ConfigMaps, what, nil)
			written := func(r cluster.Request) bool {
				return r.Name == name && r.Subresource == "status" && r.Code == http.StatusOK
			}
			if served {
				cluster.Eventually(t, env.Timeout, func() error {
					if len(w.Requests(mark).Filter(written)) == 0 {
						return errors.New("the status was never written, so that nothing is tried")
					}
					return nil
				})
			}
			mark = w.Mark()
			// Each edit has the definition looked at, as it is every 15 seconds too. Conditions tell their time in seconds.
			definitions := w.Cluster.Dynamic().Resource(env.CompositeControllers)
			for n, start := 0, time.Now(); time.Since(start) < 4*time.Second; n++ {
				patch := fmt.Sprintf(`{"metadata": {"annotations": {"n": "%d"}}}`, n)
				if _, err := definitions.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.WaitForQuiet()
			again := w.Requests(mark).Filter(func(r cluster.Request) bool { return r.Name == name && r.Subresource == "status" })
			if !served && len(again) > 0 {
				t.Errorf("a status that is not served is written:\n%s", again)
			}
			// That the schema is another may be told after the first one.
			if len(again.Filter(written)) > 1 {
				t.Errorf("a status that is not stored is sent again and again:\n%s", again)
			}
			// Ours comes, and nothing else happens to the definition.
			w.replace(ours[0])
			w.ready(composite, name)
		})
	}
}

// replace puts a CustomResourceDefinition in the place of one whose schema or subresources have more.
func (w *scene) replace(crd *unstructured.Unstructured) {
	w.T.Helper()
	definitions := w.Cluster.Dynamic().Resource(env.CRDs)
	cluster.Eventually(w.T, env.Timeout, func() error {
		stored, err := definitions.Get(w.T.Context(), crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		stored.Object["spec"] = crd.DeepCopy().Object["spec"]
		_, err = definitions.Update(w.T.Context(), stored, metav1.UpdateOptions{})
		return err
	})
}
