package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// library returns n files of about 2 KB.
func library(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		var text strings.Builder
		for text.Len() < 2000 {
			fmt.Fprintf(&text, "withField%d(value):: { spec+: { field%d: value } },\n", i*text.Len(), i)
		}
		files[fmt.Sprintf("vendor/github.com/org/repo/gen/kind%05d.libsonnet", i)] = text.String()
	}
	return files
}

// with returns files with one more, or with another text of one.
func with(files map[string]string, path, text string) map[string]string {
	files = maps.Clone(files)
	files[path] = text
	return files
}

func mergedParts(parts []part) map[string]string {
	files := map[string]string{}
	for _, p := range parts {
		for path, text := range p.files {
			files[path] += text
		}
	}
	return files
}

func TestSplit(t *testing.T) {
	empty := map[string]string{}
	for n := range 9000 {
		empty[fmt.Sprintf("%s%d", strings.Repeat("d", 1000), n)] = ""
	}
	cases := map[string]struct {
		reason string
		files  map[string]string
		most   int // parts
	}{
		"Library":  {"a generated library is some parts", library(2500), 20},
		"Largest":  {"so is the largest tree", library(8000), 60},
		"OneFile":  {"a file may be larger than a part, and is cut at no character", map[string]string{"main.libsonnet": strings.Repeat("é€😀x", maxBytes/10)}, 25},
		"LongPath": {"a path may be longer than a part", map[string]string{strings.Repeat("p", maxPartBytes): strings.Repeat("x", maxPartBytes)}, 10},
		"Paths":    {"paths take room too", empty, 40},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parts := split(tc.files)
			if len(parts) > tc.most {
				t.Errorf("%s: %d parts, want at most %d", tc.reason, len(parts), tc.most)
			}
			if !maps.Equal(tc.files, mergedParts(parts)) {
				t.Errorf("%s: merged they are other files", tc.reason)
			}
			for i, p := range parts {
				if n := size(p.files); n > maxPartBytes && name != "LongPath" || n < minPartBytes && i+1 < len(parts) && name == "Library" {
					t.Errorf("%s: part %d has %d bytes", tc.reason, i, n)
				}
			}
		})
	}
}

// TestEditsChangeFewParts counts the parts that an edit of one file makes new.
func TestEditsChangeFewParts(t *testing.T) {
	base := library(2500)
	cases := map[string]struct {
		reason string
		edited map[string]string
		most   int
	}{
		"Hook":    {"a hook beside the library", with(base, "sync.jsonnet", "{}"), 1},
		"Middle":  {"a longer text in the middle of it", with(base, "vendor/github.com/org/repo/gen/kind01000.libsonnet", strings.Repeat("x", 3000)), 2},
		"Another": {"one more file", with(base, "vendor/github.com/org/repo/gen/kind01000a.libsonnet", "x"), 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, changed := sumsOf(split(base)), 0
			for _, sum := range sumsOf(split(tc.edited)) {
				if !slices.Contains(before, sum) {
					changed++
				}
			}
			if changed == 0 || changed > tc.most {
				t.Errorf("%s: %d of %d parts are new, want 1 to %d", tc.reason, changed, len(before), tc.most)
			}
		})
	}
}

// names returns the names of the objects that are archived: revisions and parts.
func names(t *testing.T, client *fake.Clientset) (revisions, parts []string) {
	t.Helper()
	list, err := client.AppsV1().ControllerRevisions("a").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		if item.Labels[PartLabel] != "" {
			parts = append(parts, item.Name)
		} else {
			revisions = append(revisions, item.Name)
		}
	}
	slices.Sort(parts)
	return revisions, parts
}

func keep(t *testing.T, h *History, n int, files map[string]string) {
	t.Helper()
	if err := h.Save(t.Context(), idOf(n), Revision{Files: files}); err != nil {
		t.Fatal(err)
	}
}

// count returns how often a verb was used on ControllerRevisions since the last count.
func count(client *fake.Clientset, verb string) int {
	n := 0
	for _, action := range client.Actions() {
		if action.Matches(verb, "controllerrevisions") {
			n++
		}
	}
	return n
}

// TestLargeRevisionsShareParts edits a hook beside a library of 2 MB, many times.
func TestLargeRevisionsShareParts(t *testing.T) {
	base := library(1000)
	h, client := newHistory(t, nil)
	keep(t, h, 1, with(base, "sync.jsonnet", "1"))
	_, first := names(t, client)
	for n := 2; n <= 3*Limit; n++ {
		client.ClearActions()
		keep(t, h, n, with(base, "sync.jsonnet", fmt.Sprint(n)))
		if creates, gets := count(client, "create"), count(client, "get"); creates != 2 || gets != 0 {
			t.Fatalf("an edit of the hook costs %d creations and %d reads, want 2 and none", creates, gets)
		}
	}
	revisions, parts := names(t, client)
	if len(revisions) != Limit || len(parts) != len(first)+Limit-1 {
		t.Errorf("%d revisions in %d parts, want %d in the %d of the first and one more for each", len(revisions), len(parts), Limit, len(first))
	}
	for n := 2*Limit + 1; n <= 3*Limit; n++ {
		got, err := h.Load(t.Context(), idOf(n))
		if want := with(base, "sync.jsonnet", fmt.Sprint(n)); err != nil || !maps.Equal(want, got.Files) {
			t.Errorf("revision %d: error %v, %d files", n, err, len(got.Files))
		}
	}
	keep(t, h, 100, map[string]string{"sync.jsonnet": "small"})
	for n := range Limit {
		keep(t, h, 101+n, map[string]string{"sync.jsonnet": fmt.Sprint("small", n)})
	}
	if _, parts := names(t, client); len(parts) != 0 {
		t.Errorf("%d parts of revisions that are gone stay", len(parts))
	}
}

// TestRefusedRevisionsLeaveFewParts edits a hook while the API server takes parts and no revisions, as a quota may have it.
func TestRefusedRevisionsLeaveFewParts(t *testing.T) {
	base := library(300)
	h, client := newHistory(t, nil)
	client.PrependReactor("create", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject().(*appsv1.ControllerRevision)
		return object.Labels[PartLabel] == "", nil, errKilled
	})
	for n := range 30 {
		if err := h.Save(t.Context(), idOf(n), Revision{Files: with(base, "sync.jsonnet", fmt.Sprint(n))}); !errors.Is(err, errKilled) {
			t.Fatalf("error %v, want that of the revision", err)
		}
	}
	if diff := cmp.Diff(len(split(base)), len(h.parts)); diff != "" {
		t.Errorf("parts that stay: -want, +got:\n%s", diff)
	}
}

// restarted returns a History of the next process, which begins with what is there.
func restarted(t *testing.T, client *fake.Clientset) (*History, *fake.Clientset) {
	t.Helper()
	list, err := client.AppsV1().ControllerRevisions("a").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []*appsv1.ControllerRevision
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return newHistory(t, objects)
}

var errKilled = errors.New("killed")

// TestKilled ends the process at each of the requests of an edit: what is there is whole, and the next process makes it what it should be.
func TestKilled(t *testing.T) {
	base := library(300)
	newer := maps.Clone(base)
	for path := range newer {
		newer[path] += "// edited\n" // All parts change.
	}
	var want []string // The parts of the newest revisions.
	for n := 2; n <= Limit; n++ {
		want = append(want, partNames(with(base, "sync.jsonnet", fmt.Sprint(n)))...)
	}
	want = append(want, partNames(newer)...)
	slices.Sort(want)
	want = slices.Compact(want)
	for kill := 0; ; kill++ {
		h, client := newHistory(t, nil)
		for n := range Limit {
			keep(t, h, n+1, with(base, "sync.jsonnet", fmt.Sprint(n+1)))
		}
		requests := 0
		client.PrependReactor("*", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
			requests++
			return requests > kill, nil, errKilled
		})
		err := h.Save(t.Context(), idOf(20), Revision{Files: newer})
		client.ReactionChain = client.ReactionChain[1:]
		next, after := restarted(t, client)
		for name := range mustList(t, next) {
			if _, err := next.loadParts(t.Context(), listed(t, after, name)); err != nil {
				t.Fatalf("killed after %d requests: revision %s is not whole: %v", kill, name, err)
			}
		}
		keep(t, next, 20, newer)
		revisions, parts := names(t, after)
		if diff := cmp.Diff(want, parts); diff != "" || len(revisions) != Limit {
			t.Fatalf("killed after %d requests: then there are %d revisions, and these parts: -want, +got:\n%s", kill, len(revisions), diff)
		}
		if got, err := next.Load(t.Context(), idOf(20)); err != nil || !maps.Equal(newer, got.Files) {
			t.Fatalf("killed after %d requests: it can't be restored: %v", kill, err)
		}
		if err == nil {
			return // It was not killed any more.
		}
	}
}

// partNames returns the names of the objects of the parts of files.
func partNames(files map[string]string) []string {
	var names []string
	for _, p := range split(files) {
		names = append(names, location().partName(p.sum))
	}
	return names
}

func mustList(t *testing.T, h *History) map[string]entry {
	t.Helper()
	if err := h.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.entries
}

// listed returns the parts of a revision.
func listed(t *testing.T, client *fake.Clientset, name string) []string {
	t.Helper()
	found, err := client.AppsV1().ControllerRevisions("a").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	archived, err := decode(found.Data.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return archived.Parts
}

// TestLostParts deletes a part behind the host's back: the next revision that has it is whole, and so is the one before again.
func TestLostParts(t *testing.T) {
	base := library(300)
	h, client := newHistory(t, nil)
	keep(t, h, 1, with(base, "sync.jsonnet", "1"))
	_, parts := names(t, client)
	if err := client.AppsV1().ControllerRevisions("a").Delete(t.Context(), parts[len(parts)-1], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(t.Context(), idOf(1)); !errors.Is(err, ErrNone) {
		t.Fatalf("error %v: nothing was lost", err)
	}
	keep(t, h, 2, with(base, "a.jsonnet", "2"))
	if got, err := h.Load(t.Context(), idOf(2)); err != nil || !maps.Equal(with(base, "a.jsonnet", "2"), got.Files) {
		t.Errorf("the next revision: error %v, %d files", err, len(got.Files))
	}
}

// TestForgedParts changes the parts of a revision behind the host's back.
func TestForgedParts(t *testing.T) {
	base := library(300)
	evil, err := encodePacked(map[string]string{"sync.jsonnet": "evil"})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason  string
		forge   func(*testing.T, *fake.Clientset, *appsv1.ControllerRevision)
		want    string // why it is not restored
		wantErr string // why it can't be archived again
	}{
		"Gone": {"a part may be deleted", func(t *testing.T, c *fake.Clientset, o *appsv1.ControllerRevision) {
			if err := c.AppsV1().ControllerRevisions("a").Delete(t.Context(), o.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "is gone", ""},
		"Evil":    {"or have other files", edited(func(o *appsv1.ControllerRevision) { o.Data.Raw = evil }), "it has other files than it had", ""},
		"Broken":  {"or none", edited(func(o *appsv1.ControllerRevision) { o.Data.Raw = []byte(`{"gzip":"AAAA"}`) }), "EOF", ""},
		"Nested":  {"or be made of parts itself", edited(func(o *appsv1.ControllerRevision) { o.Data.Raw = []byte(`{"parts":["a"]}`) }), "it has other files than it had", ""},
		"Foreign": {"or be another's", edited(func(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = "other" }), "belongs to somebody else", "belongs to somebody else: delete it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h, client := newHistory(t, nil)
			keep(t, h, 1, base)
			_, parts := names(t, client)
			object, err := client.AppsV1().ControllerRevisions("a").Get(t.Context(), parts[0], metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tc.forge(t, client, object)
			next, after := restarted(t, client)
			if _, err := next.Load(t.Context(), idOf(1)); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: load: %v, want %q", tc.reason, err, tc.want)
			}
			err = next.Save(t.Context(), idOf(1), Revision{Files: base})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.wantErr)
				}
				return
			}
			got, loadErr := next.Load(t.Context(), idOf(1))
			if diff := cmp.Diff(base, got.Files); err != nil || loadErr != nil || diff != "" {
				t.Errorf("%s: written again: errors %v, %v, -want, +got:\n%s", tc.reason, err, loadErr, diff)
			}
			after.ClearActions()
			if keep(t, next, 1, base); len(after.Actions()) > 0 {
				t.Errorf("%s: the second time costs %d requests", tc.reason, len(after.Actions()))
			}
		})
	}
}

func edited(edit func(*appsv1.ControllerRevision)) func(*testing.T, *fake.Clientset, *appsv1.ControllerRevision) {
	return func(t *testing.T, c *fake.Clientset, o *appsv1.ControllerRevision) {
		t.Helper()
		edit(o)
		if _, err := c.AppsV1().ControllerRevisions("a").Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgedPartLists loads revisions whose lists of parts the host would not have written.
func TestForgedPartLists(t *testing.T) {
	h, client := newHistory(t, nil)
	base := library(3000)
	keep(t, h, 1, base)
	sums := sumsOf(split(base))
	list := func(n int, sums []string) *appsv1.ControllerRevision {
		return stored(n, "1", "", func(o *appsv1.ControllerRevision) {
			o.Data.Raw = []byte(`{"parts":["` + strings.Join(sums, `","`) + `"]}`)
		})
	}
	forged := []*appsv1.ControllerRevision{
		list(50, slices.Repeat(sums, 5)), list(51, slices.Repeat(sums[:1], maxParts+1)), list(52, []string{"../x"}), list(53, []string{""}),
	}
	for i, want := range []string{"unfold to more than 16 MiB", "it has 257 parts", "is gone", "is gone"} {
		if _, err := client.AppsV1().ControllerRevisions("a").Create(t.Context(), forged[i], metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		client.ClearActions()
		if _, err := h.Load(t.Context(), idOf(50+i)); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if gets := count(client, "get"); gets > 4*len(sums) {
			t.Errorf("%q costs %d reads", want, gets)
		}
	}
}

// BenchmarkKeep archives an edit of a hook beside a library of 5 MB.
func BenchmarkKeep(b *testing.B) {
	base := library(2500)
	b.Run("Split", func(b *testing.B) {
		for b.Loop() {
			split(base)
		}
	})
	b.Run("Pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range split(base) {
				if _, err := encodePacked(p.files); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
