package merge_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var update = flag.Bool("update", false, "rewrite the expected part of the files in testdata")

// What a case expects where no merged object is written out.
const (
	unchanged      = "unchanged\n"
	annotationOnly = "unchanged, but the annotation is written\n"
)

// TestMergeCases runs the files in testdata/merge. Each says in its comment what
// it is about, and holds what was observed, what was asked for last time (unless
// there is no annotation), what is desired, and the result.
func TestMergeCases(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runMergeCase(t, file) })
	}
}

func runMergeCase(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	observed, desired := mergeInput(t, archive)
	before, wanted := observed.DeepCopy(), desired.DeepCopy()
	got, err := merge.Merge(nil, observed, desired)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, observed) + cmp.Diff(wanted, desired); diff != "" {
		t.Errorf("\n%s\nmerge changed its input (-before, +after):\n%s", archive.Comment, diff)
	}
	expect(t, file, archive, "merged", describeMerge(t, observed, got))
	again, err := merge.Merge(nil, got.Object, desired)
	if err != nil || again.Object != got.Object {
		t.Errorf("\n%s\nmerging the result again differs (-first, +second), error %v:\n%s", archive.Comment, err, cmp.Diff(got.Object, again.Object))
	}
}

// mergeInput returns the observed object, with its annotation, and the desired one.
func mergeInput(t *testing.T, archive *txtar.Archive) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	observed, desired = section(t, archive, "observed"), section(t, archive, "desired")
	if observed == nil || desired == nil {
		t.Fatal("a section is missing")
	}
	text := ""
	if last := section(t, archive, "last"); last != nil {
		encoded, err := json.Marshal(last.Object)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	} else if raw := part(archive, "annotation"); raw != nil {
		text = string(bytes.TrimSuffix(raw.Data, []byte("\n")))
	}
	if text != "" {
		annotations := observed.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[merge.LastApplied] = text
		observed.SetAnnotations(annotations)
	}
	return observed, desired
}

func section(t *testing.T, archive *txtar.Archive, name string) *unstructured.Unstructured {
	t.Helper()
	file := part(archive, name)
	if file == nil {
		return nil
	}
	return applytest.Parse(t, file.Data)
}

func part(archive *txtar.Archive, name string) *txtar.File {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &archive.Files[i]
}

// describeMerge writes a result down, without the annotation.
func describeMerge(t *testing.T, observed *unstructured.Unstructured, got merge.Result) []byte {
	t.Helper()
	switch {
	case got.Object == observed:
		return []byte(unchanged)
	case !got.Differs:
		return []byte(annotationOnly)
	}
	shown := maps.Clone(got.Object.Object)
	annotations, _ := jsonvalue.Without(jsonvalue.ObjectIn(jsonvalue.ObjectIn(shown, "metadata"), "annotations"), merge.LastApplied)
	meta, _ := jsonvalue.Without(jsonvalue.ObjectIn(shown, "metadata"), "annotations")
	if len(annotations) > 0 {
		meta = jsonvalue.With(meta, "annotations", annotations)
	}
	if shown["metadata"] = meta; len(meta) == 0 {
		delete(shown, "metadata")
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// expect compares what came out with a section of the file, or rewrites that.
func expect(t *testing.T, file string, archive *txtar.Archive, section string, got []byte) {
	t.Helper()
	want := part(archive, section)
	if want == nil {
		archive.Files = append(archive.Files, txtar.File{Name: section})
		want = part(archive, section)
	}
	if !*update {
		if diff := cmp.Diff(string(want.Data), string(got)); diff != "" {
			t.Errorf("\n%s\n(-want, +got):\n%s", archive.Comment, diff)
		}
		return
	}
	want.Data = got
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
