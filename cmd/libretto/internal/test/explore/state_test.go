package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestEndState compares two states of one object.
func TestEndState(t *testing.T) {
	const base = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, uid: u1, resourceVersion: "1"}`
	cases := map[string]struct {
		reason string
		a, b   string
		ignore []string
		equal  bool
	}{
		"Versions": {
			reason: "versions and UIDs are the API server's", equal: true,
			a: base + `}`, b: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, uid: u2, resourceVersion: "7", generation: 3}}`,
		},
		"Times": {
			reason: "times in status and annotations are those of the passes", equal: true,
			a: `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {at: "2026-01-01T00:00:00Z"}}, status: {startTime: "2026-01-01T00:00:01Z", on: [{at: "2026-01-01T00:00:01Z"}]}}`,
			b: `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {at: "2026-01-01T00:00:09Z"}}, status: {startTime: "2026-01-01T00:00:02Z", on: [{at: "2026-01-01T00:00:03Z"}]}}`,
		},
		"TimesInSpec": {
			reason: "a time in the spec is the script's", equal: false,
			a: base + `, spec: {at: "2026-01-01T00:00:00Z"}}`, b: base + `, spec: {at: "2026-01-01T00:00:09Z"}}`,
		},
		"Conditions": {
			reason: "conditions have no order", equal: true,
			a: base + `, status: {conditions: [{type: A, status: "True"}, {type: B, status: "False"}]}}`,
			b: base + `, status: {conditions: [{type: B, status: "False", observedGeneration: 3}, {type: A, status: "True"}]}}`,
		},
		"Deleted": {
			reason: "an object that is being deleted is another one", equal: false,
			a: base + `}`, b: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
		},
		"UIDs": {
			reason: "a UID in a field stands for its object", equal: true,
			a: base + `, spec: {owner: u1}}`,
			b: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, uid: u2}, spec: {owner: u2}}`,
		},
		"Status": {reason: "a status counts", a: base + `, status: {count: 1}}`, b: base + `, status: {count: 2}}`},
		"IgnoredOfParent": {
			reason: "a field of the parents", equal: true, ignore: []string{"status.count"},
			a: base + `, status: {count: 1}}`, b: base + `, status: {count: 2}}`,
		},
		"IgnoredField": {
			reason: "a field of an object", equal: true, ignore: []string{"Pod/*:status.count"},
			a: base + `, status: {count: 1}}`, b: base + `, status: {count: 2}}`,
		},
		"IgnoredObject": {
			reason: "an object in a namespace", equal: true, ignore: []string{"Pod/b/a"},
			a: base + `, status: {count: 1}}`, b: base + `, status: {count: 2}}`,
		},
		"NotIgnored": {
			reason: "an object in another namespace", ignore: []string{"Pod/c/a", "Job/*"},
			a: base + `, status: {count: 1}}`, b: base + `, status: {count: 2}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ignored, err := parseIgnored(tc.ignore, []string{"Pod"})
			if err != nil {
				t.Fatal(err)
			}
			state := func(text string) endState { return endStateOf([]*unstructured.Unstructured{parsed(t, text)}, ignored) }
			a, b := state(tc.a), state(tc.b)
			if lines := differ(a, b).lines; tc.equal != (len(lines) == 0) || tc.equal != (a.hash() == b.hash()) {
				t.Errorf("%s: they differ in %q, and the hashes are equal: %t", tc.reason, lines, a.hash() == b.hash())
			}
		})
	}
}

func TestIgnoredIsRefused(t *testing.T) {
	for _, text := range []string{"a/b/c/d", "Pod/[", "Pod/[a:status"} {
		if _, err := parseIgnored([]string{text}, nil); err == nil {
			t.Errorf("%q is no name of an object, and is not refused", text)
		}
	}
}

// TestDifference checks what a case is to want, and that nothing of a Secret is shown.
func TestDifference(t *testing.T) {
	state := func(texts ...string) endState {
		var all []*unstructured.Unstructured
		for _, text := range texts {
			all = append(all, parsed(t, text))
		}
		return endStateOf(all, ignored{})
	}
	const secret = `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: c2VjcmV0}}`
	d := differ(
		state(`{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: z}}, spec: {list: [1, 2], count: 1}}`, secret),
		state(`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {list: [1], count: 1, more: true}}`, `{apiVersion: v1, kind: Pod, metadata: {name: b}}`),
	)
	lines := []string{
		`- Pod/a metadata.labels: {"x":"z"}`, "- Pod/a spec.list[1]: 2", "+ Pod/a spec.more: true", "- Secret/s",
		`+ Pod/b: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`,
	}
	if diff := cmp.Diff(lines, d.lines); diff != "" {
		t.Errorf("lines: -want +got:\n%s", diff)
	}
	text, err := yaml.Marshal(map[string]any{"objects": d.want.Objects, "absent": d.want.Absent})
	if err != nil {
		t.Fatal(err)
	}
	want := `absent:
- apiVersion: v1
  kind: Pod
  metadata:
    name: b
objects:
- apiVersion: v1
  kind: Pod
  metadata:
    labels:
      x: z
    name: a
  spec:
    list:
    - 1
    - 2
    more: null
- apiVersion: v1
  kind: Secret
  metadata:
    name: s
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("wanted part: -want +got:\n%s", diff)
	}
}
