package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// definitionSpecs are the least specs, by plural.
var definitionSpecs = map[string]string{
	"compositecontrollers": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
spec:
  parentResource: {apiVersion: example.com/v1, resource: things}
  hooks: {sync: {webhook: {url: "http://hooks.example.com"}}}`,
	"decoratorcontrollers": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
spec:
  resources: [{apiVersion: v1, resource: pods}]
  hooks: {sync: {webhook: {url: "http://hooks.example.com"}}}`,
	"mapcontrollers": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
spec:
  parentResource: {apiVersion: example.com/v1, resource: buckets}
  inputResources: [{apiVersion: v1, resource: pods}]
  hooks: {map: {webhook: {url: "http://hooks.example.com"}}}`,
}

// create makes an object that is gone when the test ends.
func create(t *testing.T, objects dynamic.ResourceInterface, object *unstructured.Unstructured, name string) *unstructured.Unstructured {
	t.Helper()
	object.SetName(name)
	created, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
	env.NoError(t, err)
	t.Cleanup(func() {
		if err := objects.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return created
}

// sampleStatus is a status with a value in every field.
func sampleStatus() v1alpha1.DefinitionStatus {
	status := v1alpha1.DefinitionStatus{
		ObservedGeneration: 1, ScriptRevision: "5f2a9c", ScriptRevisionHash: "5f2a9c01", ObservedScriptRevisionHash: "5f2a9c02", UpdatedParents: new(int32(3)),
		Parents: new(int32(3)), SyncedParents: new(int32(2)), FailingParents: new(int32(0)), WaitingParents: new(int32(1)), OutdatedChildren: new(int32(5)),
		SyncedInputs: new(int32(4)), FailingInputs: new(int32(1)), WaitingInputs: new(int32(2)),
	}
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionScriptsReady, v1alpha1.ConditionReady, v1alpha1.ConditionParentsSynced} {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind + "Reason", Message: kind + " message", ObservedGeneration: 1,
			LastTransitionTime: metav1.Now(),
		})
	}
	return status
}

// TestStatus writes a status through its subresource, and shows that neither can it be
// written with the spec nor the spec with it.
func TestStatus(t *testing.T) {
	c := withDefinitions(t)
	for plural, spec := range definitionSpecs {
		t.Run(plural, func(t *testing.T) {
			object := manifest(spec).object(t)
			objects := client(c, object)
			created := create(t, objects, object, "status")
			status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new(sampleStatus()))
			env.NoError(t, err)
			created.Object["status"] = status
			env.NoError(t, unstructured.SetNestedField(created.Object, int64(7), "spec", "resyncPeriodSeconds"))
			written, err := objects.UpdateStatus(t.Context(), created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			env.NoError(t, err)
			if got := at(written.Object, "status.conditions.2.reason"); got != "ReadyReason" {
				t.Errorf("status.conditions.2.reason = %v after writing the status", got)
			}
			if got := at(written.Object, "spec.resyncPeriodSeconds"); got != nil {
				t.Errorf("writing the status changed the spec: resyncPeriodSeconds = %v", got)
			}
			if got := written.GetGeneration(); got != 1 {
				t.Errorf("writing the status gave generation %d, want 1", got)
			}
			delete(written.Object, "status")
			updated, err := objects.Update(t.Context(), written, metav1.UpdateOptions{})
			env.NoError(t, err)
			if got := at(updated.Object, "status.parents"); got != int64(3) {
				t.Errorf("writing the object without a status left status.parents = %v, want 3", got)
			}
		})
	}
}

// TestStatusSubresourceOfRevision shows that the subresource is there, as it is in metacontroller.
func TestStatusSubresourceOfRevision(t *testing.T) {
	c := withDefinitions(t)
	object := manifest("{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {namespace: default}, parentPatch: {}}").object(t)
	objects := client(c, object)
	created := create(t, objects, object, "status")
	if _, err := objects.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestConditionsAreKeyedByType shows that two conditions of a type are refused.
func TestConditionsAreKeyedByType(t *testing.T) {
	c := withDefinitions(t)
	object := manifest(definitionSpecs["compositecontrollers"]).object(t)
	objects := client(c, object)
	created := create(t, objects, object, "twice")
	status := sampleStatus()
	status.Conditions = append(status.Conditions, status.Conditions[0])
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	env.NoError(t, err)
	created.Object["status"] = content
	if _, err := objects.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("want the doubled condition refused, got %v", err)
	}
}

// TestColumns asks for the table that kubectl get prints.
func TestColumns(t *testing.T) {
	c := withDefinitions(t)
	for plural, spec := range definitionSpecs {
		t.Run(plural, func(t *testing.T) {
			object := manifest(spec).object(t)
			objects := client(c, object)
			created := create(t, objects, object, "columns")
			before := table(t, c, plural, "columns")
			if got, want := cells(before), "Name=columns Ready=- Synced=- Scripts=- Revision=- Parents=- Failing=- Waiting=- Outdated=- Reason=- Message=- "+
				"Failures=- Scripts-Message=-"; got != want {
				t.Errorf("without a status:\n got %s\nwant %s", got, want)
			}
			status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new(sampleStatus()))
			env.NoError(t, err)
			created.Object["status"] = status
			if _, err := objects.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			after := table(t, c, plural, "columns")
			if got, want := cells(after), "Name=columns Ready=True Synced=True Scripts=ScriptsReadyReason Revision=5f2a9c Parents=3 Failing=0 Waiting=1 Outdated=5 "+
				"Reason=ReadyReason Message=Ready message Failures=ParentsSynced message Scripts-Message=ScriptsReady message"; got != want {
				t.Errorf("with a status:\n got %s\nwant %s", got, want)
			}
			for _, column := range after.ColumnDefinitions {
				wide := slices.Contains([]string{"Outdated", "Reason", "Message", "Failures", "Scripts-Message"}, column.Name)
				if wide != (column.Priority > 0) {
					t.Errorf("column %s has priority %d", column.Name, column.Priority)
				}
			}
			if last := after.ColumnDefinitions[len(after.ColumnDefinitions)-1].Name; last != "Age" {
				t.Errorf("the last column is %s, want Age", last)
			}
		})
	}
}

func table(t *testing.T, c *cluster.Cluster, plural, name string) *metav1.Table {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	version := v1alpha1.GroupVersion
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &version, "/apis", scheme.Codecs.WithoutConversion()
	restClient, err := rest.RESTClientFor(config)
	env.NoError(t, err)
	data, err := restClient.Get().Resource(plural).Name(name).SetHeader("Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	env.NoError(t, err)
	var answer metav1.Table
	env.NoError(t, json.Unmarshal(data, &answer))
	if len(answer.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(answer.Rows))
	}
	return &answer
}

// cells returns the only row of a table but for the age.
func cells(table *metav1.Table) string {
	var parts []string
	for i, column := range table.ColumnDefinitions {
		if column.Name == "Age" {
			continue
		}
		text := "-"
		if cell := table.Rows[0].Cells[i]; cell != nil {
			data, _ := json.Marshal(cell)
			text = strings.Trim(string(data), `"`)
		}
		parts = append(parts, column.Name+"="+text)
	}
	return strings.Join(parts, " ")
}
