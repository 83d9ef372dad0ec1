package merge_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// TestServedCases runs the files in testdata/served, whose objects are what the API
// server made of them: test/integration/apply runs the same files there, and records
// the sections observed and after. Each says in its comment what it is about, and holds
// what was asked for at first (before) or what somebody else has made (given), what
// another writer did to it then (foreign), what is desired, the result and, if
// that is different, the result without the schema.
func TestServedCases(t *testing.T) {
	files, err := filepath.Glob("testdata/served/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	kinds := applytest.Kinds(t, "testdata")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runServedCase(t, file, kinds) })
	}
}

func runServedCase(t *testing.T, file string, kinds map[schema.GroupVersionKind]*openapi.Kind) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	observed, desired := servedInput(t, archive, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	kind := kinds[desired.GroupVersionKind()]
	if kind == nil {
		t.Fatalf("testdata/openapi.json has no schema of %s", desired.GroupVersionKind())
	}
	merged := mergedTwice(t, archive, kind, observed, desired)
	expect(t, file, archive, "merged", merged)
	if without := mergedTwice(t, archive, nil, observed, desired); !bytes.Equal(merged, without) {
		expect(t, file, archive, "merged without schema", without)
	} else if part(archive, "merged without schema") != nil {
		t.Errorf("\n%s\nthe schema makes no difference: take the section out", archive.Comment)
	}
}

// servedInput returns the observed object, which remembers what was asked for before,
// and the desired one.
func servedInput(t *testing.T, archive *txtar.Archive, name string) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	observed, desired = section(t, archive, "observed"), section(t, archive, "desired")
	if observed == nil || desired == nil {
		t.Fatal("a section is missing")
	}
	desired.SetName(name)
	if before := section(t, archive, "before"); before != nil {
		before.SetName(name)
		out, err := merge.WithAnnotation(observed.Object, merge.Managed(before.Object))
		if err != nil {
			t.Fatal(err)
		}
		observed = &unstructured.Unstructured{Object: out}
	}
	return observed, desired
}

// mergedTwice merges, checks that there is nothing left to do then, and describes the result.
func mergedTwice(t *testing.T, archive *txtar.Archive, kind *openapi.Kind, observed, desired *unstructured.Unstructured) []byte {
	t.Helper()
	before, wanted := observed.DeepCopy(), desired.DeepCopy()
	got, err := merge.Merge(kind, observed, desired)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, observed) + cmp.Diff(wanted, desired); diff != "" {
		t.Errorf("\n%s\nmerge changed its input (-before, +after):\n%s", archive.Comment, diff)
	}
	again, err := merge.Merge(kind, got.Object, desired)
	if err != nil || again.Object != got.Object {
		t.Errorf("\n%s\nmerging the result again differs (-first, +second), error %v:\n%s", archive.Comment, err, cmp.Diff(got.Object, again.Object))
	}
	return describeMerge(t, observed, got)
}
