package fielddiff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/applytest"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		reason, from, to string
		want             []Diff
	}{
		"Nothing": {reason: "no difference", from: "spec: {a: 1}", to: "spec: {a: 1, b: null}"},
		"Fields": {
			reason: "fields come and go and change, in the order of their paths",
			from:   "spec: {c: x, b: [1], a: {z: true}}", to: "spec: {c: w, b: [1, 2], a: {w: true}}",
			want: []Diff{
				{Path: "spec.a.w", To: "true"}, {Path: "spec.a.z", From: "true"},
				{Path: "spec.b[1]", To: "2"}, {Path: "spec.c", From: `"x"`, To: `"w"`},
			},
		},
		"Items": {
			reason: "items are called by their names, so that those behind a removed one are not shown",
			from:   "spec: {containers: [{name: a}, {name: b, image: v1}]}", to: "spec: {containers: [{name: b, image: v2}, {name: c}]}",
			want: []Diff{
				{Path: "spec.containers[name=a]", From: `{"name":"a"}`},
				{Path: "spec.containers[name=b].image", From: `"v1"`, To: `"v2"`},
				{Path: "spec.containers[name=c]", To: `{"name":"c"}`},
			},
		},
		"ItemsOfTwoFields": {
			reason: "where it takes two fields to name an item, both are reported",
			from:   "spec: {ports: [{port: 53, protocol: UDP, x: 1}, {port: 53}]}", to: "spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}",
			want: []Diff{{Path: "spec.ports[port=53,protocol=UDP].x", From: "1"}},
		},
		"Names": {
			reason: "names that would make a path ambiguous are quoted",
			from:   "metadata: {labels: {a.b/c: x}}", to: "metadata: {labels: {a.b/c: z}}",
			want: []Diff{{Path: `metadata.labels["a.b/c"]`, From: `"x"`, To: `"z"`}},
		},
		"Bookkeeping": {
			reason: "what is not managed is not shown",
			from:   `metadata: {resourceVersion: "1"}`, to: `metadata: {resourceVersion: "2", annotations: {metacontroller.k8s.io/last-applied-configuration: x}}`,
		},
		"Secret": {
			reason: "secrets stay secret",
			from:   "apiVersion: v1\nkind: Secret\ntype: a\ndata: {k: eA==, q.r: eA==, gone: eA==}",
			to:     "apiVersion: v1\nkind: Secret\ntype: b\ndata: {k: eQ==, q.r: eQ==}\nstringData: {n: x}",
			want: []Diff{
				{Path: "data.gone", From: jsonvalue.Hidden}, {Path: "data.k", From: jsonvalue.Hidden, To: jsonvalue.Hidden}, {Path: `data["q.r"]`, From: jsonvalue.Hidden, To: jsonvalue.Hidden},
				{Path: "stringData", To: jsonvalue.Hidden}, {Path: "type", From: `"a"`, To: `"b"`},
			},
		},
		"SecretWithin": {
			reason: "a Secret in another object is as secret",
			from:   "spec: {manifest: {apiVersion: v1, kind: Secret, data: {k: eA==}}}",
			to:     "spec: {manifest: {apiVersion: v1, kind: Secret, data: {k: eQ==}}, other: {apiVersion: v1, kind: Secret, data: {k: eQ==}}}",
			want:   []Diff{{Path: "spec.manifest.data.k", From: jsonvalue.Hidden, To: jsonvalue.Hidden}, {Path: "spec.other", To: jsonvalue.Hidden}},
		},
		"SecretCopy": {
			reason: "kubectl keeps a copy of secrets",
			from:   "apiVersion: v1\nkind: Secret\nmetadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}",
			to:     "apiVersion: v1\nkind: Secret\nmetadata: {annotations: {}}",
			want:   []Diff{{Path: `metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, From: jsonvalue.Hidden}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Describe(nil, applytest.Parse(t, []byte(tc.from)), applytest.Parse(t, []byte(tc.to)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDescribeIsBounded(t *testing.T) {
	many := map[string]any{"x": "1"}
	for i := range 100 {
		many[fmt.Sprintf("f%03d", i)] = strings.Repeat("é", 1000)
	}
	from := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"x": "1"}}}
	to := &unstructured.Unstructured{Object: map[string]any{"spec": many}}
	got := Describe(nil, from, to)
	if last := got[len(got)-1]; len(got) != maxDiffs+1 || last.To != "and 68 more" {
		t.Errorf("%d entries, the last %v", len(got), last)
	}
	if n := len(got[0].To); n > maxValueBytes+len("...") {
		t.Errorf("a value of %d bytes", n)
	}
	if Describe(nil, nil, to) != nil || Describe(nil, from, from) != nil {
		t.Error("nothing to compare is no difference")
	}
}

func TestDiffIsALine(t *testing.T) {
	cases := map[string]Diff{
		"spec.a: 1 becomes 2":       {Path: "spec.a", From: "1", To: "2"},
		"spec.a: nothing becomes 2": {Path: "spec.a", To: "2"},
		"spec.a: 1 becomes nothing": {Path: "spec.a", From: "1"},
		"and 3 more":                {To: "and 3 more"},
	}
	for want, diff := range cases {
		if got := diff.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestUndoes checks that values count which people are not shown in full.
func TestUndoes(t *testing.T) {
	long := strings.Repeat("x", maxValueBytes)
	cases := map[string]struct{ reason, kind, left, found, next string }{
		"Plain":  {"short values show what they are", "ConfigMap", "ours", "theirs", "ours"},
		"Long":   {"what is cut off counts", "ConfigMap", long + "ours", long + "theirs", long + "ours"},
		"Secret": {"what is hidden counts", "Secret", "b3Vycw==", "dGhlaXJz", "b3Vycw=="},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			holding := func(value string) *unstructured.Unstructured {
				return applytest.Parse(t, []byte("apiVersion: v1\nkind: "+tc.kind+"\ndata: {k: "+value+"}"))
			}
			earlier := Marks(holding("before"), holding(tc.left))[0]
			if again := Marks(holding(tc.found), holding(tc.next))[0]; !again.Undoes(earlier) || again.Path != earlier.Path {
				t.Errorf("%s: %v does not undo %v", tc.reason, again, earlier)
			}
			if further := Marks(holding(tc.left), holding("further"))[0]; further.Undoes(earlier) {
				t.Errorf("%s: %v finds what was left, and undoes nothing", tc.reason, further)
			}
		})
	}
}

// TestMarks checks that there is one for each line that people are shown, also where there are too many.
func TestMarks(t *testing.T) {
	fields := func(n int, value string) *unstructured.Unstructured {
		data := map[string]any{}
		for i := range n {
			data[fmt.Sprintf("f%03d", i)] = value
		}
		return &unstructured.Unstructured{Object: map[string]any{"data": data}}
	}
	for _, n := range []int{0, 1, maxDiffs, maxDiffs + 5} {
		from, to := fields(n, "a"), fields(n, "b")
		marks, diffs := Marks(from, to), Describe(nil, from, to)
		for i, mark := range marks {
			if want := jsonvalue.Hash(diffs[i].Path); mark.Path != want {
				t.Errorf("%d fields: mark %d is of another field than %q", n, i, diffs[i].Path)
			}
		}
		if len(marks) != min(n, maxDiffs) {
			t.Errorf("%d marks of %d fields", len(marks), n)
		}
	}
	if Marks(nil, fields(1, "a")) != nil {
		t.Error("nothing to compare is no difference")
	}
}

// BenchmarkMarks compares what the host does for each update with what it does for people.
func BenchmarkMarks(b *testing.B) {
	object := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"app": "a", "revision": value}},
			"data":     map[string]any{"config": strings.Repeat(value, 1500)},
		}}
	}
	from, to := object("x"), object("y")
	b.Run("Marks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Marks(from, to)
		}
	})
	b.Run("Describe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Describe(nil, from, to)
		}
	})
}

// databaseKind returns a kind with fields that its schema calls passwords.
func databaseKind(t *testing.T) *openapi.Kind {
	t.Helper()
	kinds, err := openapi.Parse([]byte(`{"components": {"schemas": {"example.v1.Database": {
		"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Database"}],
		"properties": {
			"metadata": {"type": "object"},
			"spec": {"type": "object", "properties": {
				"size": {"type": "integer"},
				"password": {"type": "string", "format": "password"},
				"users": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "password": {"type": "string", "format": "password"}}}}
			}}
		}
	}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		return kind
	}
	t.Fatal("no kind")
	return nil
}

// TestDescribeHidesSecrets checks that what a schema calls a password is not shown, wherever it stands.
func TestDescribeHidesSecrets(t *testing.T) {
	kind := databaseKind(t)
	cases := map[string]struct {
		reason, from, to string
		want             []Diff
	}{
		"Field": {
			reason: "a field of that format is hidden, others are not", from: "spec: {size: 1, password: old}", to: "spec: {size: 2, password: new}",
			want: []Diff{{Path: "spec.password", From: jsonvalue.Hidden, To: jsonvalue.Hidden}, {Path: "spec.size", From: "1", To: "2"}},
		},
		"Within": {
			reason: "so it is within what is shown as a whole", from: "spec: {}", to: "spec: {users: [{name: a, password: new}]}",
			want: []Diff{{Path: "spec.users", To: `[{"name":"a","password":"(hidden)"}]`}},
		},
		"Item": {
			reason: "and in an item", from: "spec: {users: [{name: a, password: old}]}", to: "spec: {users: [{name: a, password: new}]}",
			want: []Diff{{Path: "spec.users[name=a].password", From: jsonvalue.Hidden, To: jsonvalue.Hidden}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Describe(kind, applytest.Parse(t, []byte(tc.from)), applytest.Parse(t, []byte(tc.to)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMask checks that a message of the API server's about an object has nothing that its schema calls secret.
func TestMask(t *testing.T) {
	object := applytest.Parse(t, []byte("apiVersion: example.com/v1\nkind: Database\nspec: {size: 3, password: hunter2, users: [{name: a, password: swordfish}]}"))
	const message = `Database "d" is invalid: spec.password: Invalid value: "hunter2": is too short; spec.users[0]: {name: a, password: swordfish}; spec.size: 3`
	want := strings.NewReplacer("hunter2", "(hidden)", "swordfish", "(hidden)").Replace(message)
	if got := Mask(message, databaseKind(t), nil, object); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Mask(message, nil, object); got != message {
		t.Errorf("without a schema nothing is known to be secret: %s", got)
	}
	other := applytest.Parse(t, []byte("apiVersion: example.com/v1\nkind: Database\nspec: {password: (hid}"))
	if got := Mask(message, databaseKind(t), object, other); got != want {
		t.Errorf("%s, want %s: a value of the second object is part of what stands for those of the first", got, want)
	}
}

func TestPublicPath(t *testing.T) {
	secret, config := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	cases := map[string]struct {
		reason string
		kind   schema.GroupVersionKind
		path   string
		want   string
	}{
		"key":          {"the name of a key is not reported", secret, "data.password", "data"},
		"dotted":       {"nor one with a dot", secret, `data["tls.key"]`, "data"},
		"plain text":   {"nor one of stringData", secret, "stringData.password", "stringData"},
		"no key":       {"other fields are", secret, "metadata.labels.a", "metadata.labels.a"},
		"all":          {"the field itself is", secret, "data", "data"},
		"ConfigMap":    {"it holds no secrets", config, "data.password", "data.password"},
		"another kind": {"of another group", schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Secret"}, "data.x", "data.x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := PublicPath(c.kind, c.path); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
