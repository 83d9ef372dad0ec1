package apply

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// appliedPod returns a Pod as a hook desires it and as the API server keeps it, with its
// record of what was applied.
func appliedPod(t testing.TB) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	observed, desired = applytest.Pod(t, "merge/testdata")
	data, err := os.ReadFile("merge/testdata/pod/fields.json")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	annotations := jsonvalue.ObjectIn(jsonvalue.ObjectIn(fields, "f:metadata"), "f:annotations")
	maps.Copy(annotations, map[string]any{"f:" + serverside.AppliedAnnotation(ours.Own): map[string]any{}})
	config := serverside.NewConfiguration(desired, ownedBy(desired, owner), ours.Own, nil)
	observed = withAnnotation(withAnnotation(observed, merge.LastApplied, nil), serverside.AppliedAnnotation(ours.Own), config.Mark)
	observed.Object["metadata"].(map[string]any)["ownerReferences"] = ownedBy(desired, owner)
	observed.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": ours.Own, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields},
	}
	return observed, desired
}

// TestAppliedPodIsSettled checks what BenchmarkServerSide measures.
func TestAppliedPodIsSettled(t *testing.T) {
	observed, desired := appliedPod(t)
	in := Input{Owner: owner, Rules: []Rule{serverSide(podRule, InPlace)}, Observed: list(observed), Desired: list(desired)}
	changes, err := Diff(in)
	if err != nil || len(changes) > 0 {
		t.Fatalf("error %v, changes %v", err, manner(changes))
	}
	// Each field that is not held is missed.
	fields := serverside.EntryOf(serverside.ManagedFields(observed), ours.Own).Fields()
	spec := jsonvalue.ObjectIn(jsonvalue.ObjectIn(fields, "f:spec"), "f:containers")
	for name := range spec {
		delete(jsonvalue.AsObject(spec[name]), "f:image")
	}
	if changes, err = Diff(in); err != nil || len(changes) != 1 {
		t.Errorf("error %v, changes %v", err, manner(changes))
	}
}

func BenchmarkServerSide(b *testing.B) {
	observed, desired := appliedPod(b)
	rule, entries := serverSide(podRule, InPlace), serverside.ManagedFields(observed)
	changed := desired.DeepCopy()
	changed.SetLabels(map[string]string{"version": "v2"})
	for name, desired := range map[string]*unstructured.Unstructured{"Unchanged": desired, "Changed": changed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rule.UpToDate(observed, desired, owner, entries); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Remembered", func(b *testing.B) {
		c := child{key: KeyOf(desired), rule: rule, desired: desired, memory: NewMemory()}
		b.ReportAllocs()
		for b.Loop() {
			if change, err := c.write(observed, owner, entries); err != nil || change != nil {
				b.Fatal(err, change)
			}
		}
	})
}
