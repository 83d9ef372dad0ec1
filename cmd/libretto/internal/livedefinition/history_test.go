package livedefinition

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// began is when the first revision was archived.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// archived returns the ControllerRevision of a definition hello, number n of all.
func archived(t *testing.T, digit string, n int, files map[string]string) *appsv1.ControllerRevision {
	t.Helper()
	data, err := json.Marshal(map[string]any{"files": files})
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "composite-hello-" + idOf(digit)[:16], Labels: map[string]string{"metacontroller.k8s.io/scripts-of": "u"},
			Annotations:       map[string]string{"metacontroller.k8s.io/script-revision-number": fmt.Sprint(n), "metacontroller.k8s.io/script-tests-passed": idOf("b")},
			CreationTimestamp: metav1.NewTime(began.Add(time.Duration(n) * time.Hour)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CompositeController", Name: "hello", UID: "u", Controller: new(true)}},
		},
		Data: runtime.RawExtension{Raw: data},
	}
}

const sources = "spec: {scriptSources: [{configMap: {namespace: a, name: hooks}}]"

// historyOf returns the history of a definition with three archived revisions, a, b and c.
func historyOf(t *testing.T, fields string) *History {
	t.Helper()
	revisions := []*appsv1.ControllerRevision{
		archived(t, "a", 1, map[string]string{"sync.js": "one\ntwo\nthree\n", "old.js": "gone"}),
		archived(t, "b", 2, map[string]string{"sync.js": "one\n2 \x1b[31m\nthree\n", "new.js": "come\n"}),
		archived(t, "c", 3, map[string]string{"sync.js": "one\ntwo\nthree"}),
	}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	list := &metav1.List{}
	for _, revision := range revisions {
		if err := client.Tracker().Add(revision); err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}, ObjectMeta: revision.ObjectMeta,
		}})
	}
	metadata := metadatafake.NewSimpleMetadataClient(scheme)
	metadata.PrependReactor("list", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() != "a" {
			cause := fmt.Errorf(`User "u" cannot list resource "controllerrevisions" in API group "apps" in the namespace %q`, action.GetNamespace())
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, "", cause)
		}
		return true, list, nil
	})
	h, err := (&Client{Kubernetes: client, Metadata: metadata, HostNamespace: "host"}).History(context.Background(), definitionWith(t, fields))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistory lists revisions and what the definition says of them.
func TestHistory(t *testing.T) {
	a, b, c := idOf("a"), idOf("b"), idOf("c")
	for name, example := range map[string]struct{ fields, want string }{
		"one serves": {"}\n" + sources + "}\nstatus: {scriptRevision: " + c[:16] + "}", `
			REVISION   ID                 AGE   TESTS    STATE
			3          cccccccccccccccc   9h    -        serves
			2          bbbbbbbbbbbbbbbb   10h   passed
			1          aaaaaaaaaaaaaaaa   11h   -`},
		"one is held": {"}\n" + sources + "}\nstatus: {scriptRevisionHash: " + c + ", scriptRollout: {heldRevision: " + idOf("d") + "}}", `
			REVISION   ID                 AGE   TESTS    STATE
			-          dddddddddddddddd   -     -        held (not archived)
			3          cccccccccccccccc   9h    -        serves
			2          bbbbbbbbbbbbbbbb   10h   passed
			1          aaaaaaaaaaaaaaaa   11h   -`},
		"one served before": {"}\n" + sources + "}\nstatus: {scriptRevisionHash: " + b + ", previousScriptRevisionHash: " + c + "}", `
			REVISION   ID                 AGE   TESTS    STATE
			3          cccccccccccccccc   9h    -        previous
			2          bbbbbbbbbbbbbbbb   10h   passed   serves
			1          aaaaaaaaaaaaaaaa   11h   -`},
		"a step": {"}\n" + sources + "}\nstatus: {scriptRevisionHash: " + b + ", scriptRollout: {phase: Progressing, stableRevision: " + b + ", updatedRevision: " + c + "}}", `
			REVISION   ID                 AGE   TESTS    STATE
			3          cccccccccccccccc   9h    -        updated
			2          bbbbbbbbbbbbbbbb   10h   passed   stable
			1          aaaaaaaaaaaaaaaa   11h   -`},
		"rolled back, pinned, approved": {", annotations: {metacontroller.k8s.io/approved-revision: " + b + "}}\n" + sources + ", scriptRollout: {revision: " + a + "}}\nstatus: {scriptRevisionHash: " + a +
			", scriptRollout: {phase: RolledBack, stableRevision: " + a + ", failedRevision: " + c + "}}", `
			REVISION   ID                 AGE   TESTS    STATE
			3          cccccccccccccccc   9h    -        failed
			2          bbbbbbbbbbbbbbbb   10h   passed   approved
			1          aaaaaaaaaaaaaaaa   11h   -        serves, pinned`},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			err := historyOf(t, example.fields).Write(&text, began.Add(12*time.Hour))
			want := strings.ReplaceAll(strings.TrimPrefix(example.want, "\n"), "\t\t\t", "") + "\n"
			if diff := cmp.Diff(want, text.String()); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestHistoryWithoutRights may not read the archive, which is in the host's namespace if there are no sources.
func TestHistoryWithoutRights(t *testing.T) {
	h := historyOf(t, "}\n"+sources+"}")
	h.stored.Namespace = "host"
	d := definitionWith(t, "}")
	_, err := (&Client{Kubernetes: fake.NewClientset(), Metadata: h.stored.Metadata, HostNamespace: "host"}).History(t.Context(), d)
	want := `you may not list controllerrevisions.apps in namespace host: it takes a Role with the rule {apiGroups: ["apps"], resources: [controllerrevisions], verbs: [list]}`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestFindRevision finds archived revisions by number and ID, and the one before.
func TestFindRevision(t *testing.T) {
	c := idOf("c")
	h := historyOf(t, "}\n"+sources+"}\nstatus: {scriptRevisionHash: "+c+", scriptRollout: {heldRevision: "+idOf("d")+"}}")
	for revision, want := range map[string]string{
		"2":          "bbbbbbbbbbbbbbbb",
		c:            c, // In full, as the status knows it.
		c[:16]:       c,
		"4":          "CompositeController hello: revision 4 is not archived: see libretto history compositecontroller/hello",
		idOf("d"):    "CompositeController hello: revision " + idOf("d") + " is not archived: see libretto history compositecontroller/hello",
		idOf("1"):    "CompositeController hello: revision " + idOf("1") + " is not archived: see libretto history compositecontroller/hello", // All digits.
		"0":          `"0" is no revision: write its number, or its ID with 64 digits or the first 16: see libretto history compositecontroller/hello`,
		"cccccccccc": `"cccccccccc" is no revision: write its number, or its ID with 64 digits or the first 16: see libretto history compositecontroller/hello`,
	} {
		got := ""
		if found, err := h.Find(revision); err != nil {
			got = err.Error()
		} else {
			got = found.ID
		}
		if got != want {
			t.Errorf("%s: %s, want %s", revision, got, want)
		}
	}
	for name, example := range map[string]struct{ status, want string }{
		"the newest serves":     {"scriptRevisionHash: " + c, "bbbbbbbbbbbbbbbb"},
		"the second one serves": {"scriptRevisionHash: " + idOf("b"), "aaaaaaaaaaaaaaaa"},
		"the first one serves": {"scriptRevisionHash: " + idOf("a"),
			"CompositeController hello: no revision was archived before the one that serves: name one with --to-revision: see libretto history compositecontroller/hello"},
		"another one serves": {"scriptRevisionHash: " + idOf("d"),
			"CompositeController hello: the revision that serves is not archived: name one with --to-revision: see libretto history compositecontroller/hello"},
		"a newer one served before": {"scriptRevisionHash: " + idOf("a") + ", previousScriptRevisionHash: " + c, c},
		"what served before is gone": {"scriptRevisionHash: " + idOf("a") + ", previousScriptRevisionHash: " + idOf("e"),
			"CompositeController hello: revision " + idOf("e") + " is not archived: see libretto history compositecontroller/hello: " +
				"it is what served before: name another one with --to-revision"},
		"an edit of the first one is rolled out": {"scriptRevisionHash: " + c + ", scriptRollout: {phase: Progressing, stableRevision: " + idOf("a") + ", updatedRevision: " + c + "}", idOf("a")},
	} {
		got := ""
		found, guessed, err := historyOf(t, "}\n"+sources+"}\nstatus: {"+example.status+"}").Previous()
		if stored := strings.Contains(example.status, "previousScriptRevisionHash") || strings.Contains(example.status, "updatedRevision"); guessed == stored {
			t.Errorf("%s: it is guessed: %t", name, guessed)
		}
		if err != nil {
			got = err.Error()
		} else {
			got = found.ID
		}
		if got != example.want {
			t.Errorf("%s: %s, want %s", name, got, example.want)
		}
	}
}

// TestDifference compares two archived revisions.
func TestDifference(t *testing.T) {
	h := historyOf(t, "}\n"+sources+"}")
	difference := func(from, to string, colour bool) string {
		var text strings.Builder
		a, err := h.Files(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		b, err := h.Files(t.Context(), to)
		if err == nil {
			err = WriteDifference(&text, a, b, colour)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	want := `--- /dev/null
+++ bbbbbbbbbbbbbbbb/new.js
@@ -0,0 +1 @@
+come
--- aaaaaaaaaaaaaaaa/old.js
+++ /dev/null
@@ -1 +0,0 @@
-gone
\ No newline at end of file
--- aaaaaaaaaaaaaaaa/sync.js
+++ bbbbbbbbbbbbbbbb/sync.js
@@ -1,3 +1,3 @@
 one
-two
+2 ` + "\ufffd" + `[31m
 three
`
	if diff := cmp.Diff(want, difference("1", "2", false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := difference("1", "2", true); !strings.Contains(got, "\x1b[31m-two\x1b[0m\n\x1b[32m+2 \ufffd[31m\x1b[0m\n") {
		t.Errorf("in colour: %q", got)
	}
	if got := difference("1", "3", false); !strings.HasSuffix(got, " two\n-three\n+three\n\\ No newline at end of file\n") {
		t.Errorf("the end of the last line: %q", got)
	}
	if got := difference("2", "2", false); got != "the files of both are the same\n" {
		t.Errorf("the same: %q", got)
	}
	files, err := h.Files(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = files.Write(&text, began.Add(3*time.Hour))
	wantFiles := "CompositeController hello: revision 1 (aaaaaaaaaaaaaaaa), archived 120m ago\n  old.js: 1 line, 4 bytes\n  sync.js: 3 lines, 14 bytes\n"
	if diff := cmp.Diff(wantFiles, text.String()); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestHooksAreTexts compares revisions of inline scripts: the settings of hooks and their texts are shown like files.
func TestHooksAreTexts(t *testing.T) {
	of := func(inline, function string) *RevisionFiles {
		hooks := fmt.Sprintf(`{"sync": {"Inline": %q, "Function": %q}}`, inline, function)
		return &RevisionFiles{Revision: Revision{ID: idOf("a"), Number: 1, Created: &began}, Hooks: json.RawMessage(hooks)}
	}
	var text strings.Builder
	if err := WriteDifference(&text, of("one\n", "f"), of("two\n", "g"), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/(inline script of sync)\n@@ -1 +1 @@\n-one\n+two\n", "/(hooks)\n", "-    \"Function\": \"f\",\n+    \"Function\": \"g\",\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
	text.Reset()
	if err := of("one\n", "f").Write(&text, began); err != nil || !strings.Contains(text.String(), "  (inline script of sync): 1 line, 4 bytes\n") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
	if err := WriteDifference(&text, &RevisionFiles{Hooks: json.RawMessage("no JSON")}, of("one\n", "f"), false); err != nil {
		t.Error(err)
	}
}

// TestLargeDifference bounds what is compared and printed.
func TestLargeDifference(t *testing.T) {
	a := &RevisionFiles{Revision: Revision{ID: idOf("a")}, Files: map[string]string{
		"large.js": strings.Repeat("x", maxCompared+1), "many.js": strings.Repeat("x\n", maxComparedLines+1), "long.js": "a" + strings.Repeat("x", maxLine),
	}}
	b := &RevisionFiles{Revision: Revision{ID: idOf("b")}, Files: map[string]string{
		"large.js": "", "many.js": "", "long.js": "b" + strings.Repeat("x", maxLine),
	}}
	var text strings.Builder
	if err := WriteDifference(&text, a, b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"too large to compare by lines: 1048577 bytes in 1 lines, and 0 bytes in 0 lines\n",
		"too large to compare by lines: 20002 bytes in 10001 lines, and 0 bytes in 0 lines\n", "\n-axxx", "\n+bxxx", "xx...\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}
