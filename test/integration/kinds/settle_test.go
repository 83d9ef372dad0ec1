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
	// started is how long a start may take to be reported with one write.
	started = time.Second
)

// TestCreatedAndReplaced stands for clients, as metacontroller's tests are, that create a definition and replace it a
// moment later with the version that the creation returned.
func TestCreatedAndReplaced(t *testing.T) {
	e := env.NewRunning(t)
	definitions := e.Cluster.Dynamic().Resource(env.CompositeControllers)
	for n := range 5 {
		name := fmt.Sprintf("%s-%d", e.Namespace, n)
		ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
		events, err := definitions.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		env.NoError(t, err)
		before := time.Now()
		e.Define(env.Composite, fmt.Sprint("-", n), parentsAre(e, env.Composite, "none"),
			env.Hooks(`export const sync = () => ({children: []});`, "sync"))
		var status any
		for event := range events.ResultChan() {
			object := event.Object.(*unstructured.Unstructured)
			conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
			if len(conditions) == 0 || reflect.DeepEqual(object.Object["status"], status) { // No host wrote the default of the schema.
				continue
			}
			status = object.Object["status"]
			took, c := time.Since(before), e.ConditionOf(object, "Ready")
			if took < untouched {
				t.Errorf("the status was written %s after the creation: %v", took, c)
			}
			if c.Status == metav1.ConditionTrue {
				break
			}
			if took < started {
				t.Errorf("a start was reported by more than one write, first %s after the creation: %v", took, c)
			}
		}
		cancel()
		if status == nil {
			t.Error("the start was never reported")
		}
	}
}

// TestDefinitionThatCanNotStart is reported in time.
func TestDefinitionThatCanNotStart(t *testing.T) {
	e := env.NewRunning(t)
	name := e.Namespace
	e.Define(env.Decorator, "", "resources: [{apiVersion: example.com/v1, resource: missing}]",
		env.Hooks(`export const sync = () => ({});`, "sync"))
	e.WaitForConditionOf(env.Decorator, name, "Accepted", "False", "ResourceNotFound")
	e.Define(env.Decorator, "", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]\nscriptSources: [{configMap: {namespace: default, name: not-there}}]", e.Group),
		"hooks: {sync: {script: {path: sync.js}}}")
	e.WaitForConditionOf(env.Decorator, name, "Ready", "False", "ScriptsNotReady")
}

// TestDefinitionsWithoutAStatus runs with CustomResourceDefinitions shaped as metacontroller's: definitions whose status
// has no fields, or none at all. Nothing is written again and again. With ours the status is there.
func TestDefinitionsWithoutAStatus(t *testing.T) {
	root, err := cluster.Root()
	env.NoError(t, err)
	ours, err := cluster.ReadFiles(filepath.Join(root, "manifests", "crd", "metacontroller.k8s.io_compositecontrollers.yaml"))
	if err != nil || len(ours) != 1 {
		t.Fatalf("%d objects, %v", len(ours), err)
	}
	e := env.NewRunning(t)
	t.Cleanup(func() {
		if err := e.Cluster.Apply(context.Background(), "", ours[0]); err != nil {
			t.Error(err)
		}
	})
	for what, served := range map[string]bool{"schema": true, "subresources": false} {
		t.Run(what, func(t *testing.T) {
			e := e.WithT(t)
			theirs := ours[0].DeepCopy()
			withoutStatus(t, theirs, what)
			replace(e, theirs)
			mark := e.Mark()
			name := e.Namespace + "-" + what
			e.ApplyThing(what, "set: "+what, fmt.Sprintf("selector: {matchLabels: {app: %q}}", what))
			e.Define(env.Composite, "-"+what, parentsAre(e, env.Composite, what), env.Hooks(`
export const sync = ({parent}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name, labels: {app: parent.metadata.name}}}]});`, "sync"))
			e.WaitFor(env.ConfigMaps, what, nil)
			written := func(r cluster.Request) bool {
				return r.Name == name && r.Subresource == "status" && r.Code == http.StatusOK
			}
			if served {
				e.Eventually(func() error {
					if len(e.Requests(mark).Filter(written)) == 0 {
						return errors.New("the status was never written, so that nothing is tried")
					}
					return nil
				})
			}
			mark = e.Mark()
			// Each edit has the definition looked at, as it is every 15 seconds too. Conditions tell their time in seconds.
			definitions := e.Cluster.Dynamic().Resource(env.CompositeControllers)
			for n, start := 0, time.Now(); time.Since(start) < 4*time.Second; n++ {
				patch := fmt.Sprintf(`{"metadata": {"annotations": {"n": "%d"}}}`, n)
				if _, err := definitions.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			e.WaitForQuiet()
			again := e.Requests(mark).Filter(func(r cluster.Request) bool { return r.Name == name && r.Subresource == "status" })
			if !served && len(again) > 0 {
				t.Errorf("a status that is not served is written:\n%s", again)
			}
			// That the schema is another may be reported after the first one.
			if len(again.Filter(written)) > 1 {
				t.Errorf("a status that is not stored is sent again and again:\n%s", again)
			}
			// Ours comes, and nothing else happens to the definition.
			replace(e, ours[0])
			e.WaitUntilReady(env.Composite, name)
		})
	}
}

// replace puts a CustomResourceDefinition in the place of one whose schema or subresources have more.
func replace(e *env.Env, crd *unstructured.Unstructured) {
	e.T.Helper()
	definitions := e.Cluster.Dynamic().Resource(env.CRDs)
	e.Eventually(func() error {
		stored, err := definitions.Get(e.T.Context(), crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		stored.Object["spec"] = crd.DeepCopy().Object["spec"]
		_, err = definitions.Update(e.T.Context(), stored, metav1.UpdateOptions{})
		return err
	})
}
