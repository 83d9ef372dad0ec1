package apply

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// appliedPod returns a Pod as a hook desires it and as the API server keeps it, with its
// record of what was applied.
func appliedPod(t testing.TB) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	desired = read(t, "testdata/pod/desired.yaml")
	observed = read(t, "testdata/pod/observed.yaml")
	data, err := os.ReadFile("testdata/pod/fields.json")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	annotations := objectIn(objectIn(fields, "f:metadata"), "f:annotations")
	maps.Copy(annotations, map[string]any{"f:" + appliedAnnotation(ours.Own): map[string]any{}})
	config := configurationOf(desired, ownedBy(desired, owner), ours.Own)
	observed = withAnnotation(withAnnotation(observed, LastApplied, nil), appliedAnnotation(ours.Own), config.mark)
	observed.Object["metadata"].(map[string]any)["ownerReferences"] = ownedBy(desired, owner)
	observed.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": ours.Own, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields},
	}
	return observed, desired
}

// TestAppliedPodIsSettled checks what BenchmarkServerSide measures.
func TestAppliedPodIsSettled(t *testing.T) {
	observed, desired := appliedPod(t)
	in := Input{Owner: owner, Rules: []Rule{served(podRule, InPlace)}, Observed: list(observed), Desired: list(desired)}
	changes, err := Diff(in)
	if err != nil || len(changes) > 0 {
		t.Fatalf("error %v, changes %v", err, manner(changes))
	}
	// Each field that is not held is missed.
	fields := entryOf(managedFields(observed), ours.Own).fields()
	spec := objectIn(objectIn(fields, "f:spec"), "f:containers")
	for name := range spec {
		delete(objectOf(spec[name]), "f:image")
	}
	if changes, err = Diff(in); err != nil || len(changes) != 1 {
		t.Errorf("error %v, changes %v", err, manner(changes))
	}
}

func BenchmarkServerSide(b *testing.B) {
	observed, desired := appliedPod(b)
	rule, entries := served(podRule, InPlace), managedFields(observed)
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
