package composite

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// editedCases are about ControllerRevisions that others have written.
func editedCases() map[string]rollingUpdateCase {
	const paused = "paused: true"
	return map[string]rollingUpdateCase{
		"EditedOld": {
			reason: "An edited revision is not used, and its children stay as they are.", strategy: paused,
			revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1", edit: editPatch("v1", evilPatch),
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "c", wantCondition: waiting + "c waits: the rolling update is paused",
			wantRevisions: []string{"v2: a b =", "evil: c ="},
			wantWarnings:  []string{"was edited or forged: its name is not that of its parentPatch"},
		},
		"EditedOldTurn": {
			reason:    "When it is its turn, a child of an edited revision is updated.",
			revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1", edit: editPatch("v1", evilPatch),
			wantImages: "a=v2 b=v2 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: a b c", "evil: c ="},
			wantWarnings: []string{"delete it"},
		},
		"EditedUpdate": {
			reason: "The content of the present state's revision is known, and is written again.", strategy: paused,
			revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1", edit: editPatch("v2", evilPatch),
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits: the rolling update is paused",
			wantRevisions: []string{"v2: a b", "v1: c ="}, wantWarnings: []string{"is written again"},
		},
		"EditedUpdateList": {
			reason: "What an edited revision lists is not believed, even if it is written again.", strategy: paused,
			revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v1", edit: editPatch("v2", evilPatch),
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "c", wantCondition: waiting + "c waits: the rolling update is paused",
			wantRevisions: []string{"v2: a b"}, wantWarnings: []string{"is written again"},
		},
		"Renamed": {
			reason: "A right content under another name is not used either.", revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2",
			edit:       func(e *env) { e.revisions[0].SetName("mine") },
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v2: a b c ="},
			wantWarnings: []string{"ControllerRevision mine was edited or forged"},
		},
		"OtherParent": {
			reason: "The name covers the parent's UID.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1", strategy: paused,
			edit: func(e *env) {
				other := e.parent.DeepCopy()
				other.SetUID("u2")
				names, err := New(e.config).revisionNames(other, e.revisions[0].Object["parentPatch"].(map[string]any), "")
				if err != nil {
					panic(err)
				}
				e.revisions[0].SetName(names.own)
			},
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "a b c", wantCondition: waiting + "a waits: the rolling update is paused",
			wantRevisions: []string{"v2:", "v1: a b c ="}, wantWarnings: []string{"is not used"},
		},
		"NoObject": {
			reason: "What is no object is the content of no name.", strategy: paused, revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit:       func(e *env) { e.revisions[0].Object["parentPatch"] = "x" },
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "a b c", wantCondition: waiting + "a waits: the rolling update is paused",
			wantRevisions: []string{"v2:", "<nil>: a b c ="}, wantWarnings: []string{"is not used"},
		},
		"Metacontroller": {
			reason: "Metacontroller's names are known.", strategy: paused, revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1",
			edit: func(e *env) {
				for _, r := range e.revisions {
					unlabel(r)
					names, err := New(e.config).revisionNames(e.parent, r.Object["parentPatch"].(map[string]any), "")
					if err != nil {
						panic(err)
					}
					r.SetName(names.legacy)
				}
			},
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits: the rolling update is paused",
			wantRevisions: []string{"v2: a b =", "v1: c ="},
		},
		"StartedInTheFuture": {
			reason: "A time that has not come counts as now, however far off it is.", strategy: "progressDeadlineSeconds: 60",
			revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			edit: func(e *env) {
				e.revisions[1].SetAnnotations(map[string]string{updateStartedAt: "9999-12-31T23:59:59Z"})
			},
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is missing", wantResync: 60,
			wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"Outside": {
			reason: "Fields outside fieldPaths come from the present parent.", strategy: paused, revisions: []string{"v2: a b"}, children: "a=v2 b=v2 c=v1",
			edit: func(e *env) {
				patch := map[string]any{"spec": map[string]any{"template": map[string]any{"image": "v1"}, "names": []any{"c", "d"}, "none": nil}}
				names, err := New(e.config).revisionNames(e.parent, patch, "")
				if err != nil {
					panic(err)
				}
				old := e.revisions[0].DeepCopy()
				old.Object["parentPatch"] = patch
				old.SetName(names.own)
				setChildIDs(old, []childID{{items.Kind.GroupKind(), "c"}, {nodes.Kind.GroupKind(), "c"}, {items.Kind.GroupKind(), "prod/c"}})
				e.revisions = append(e.revisions, old)
			},
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits: the rolling update is paused",
			wantRevisions: []string{"v2: a b =", "v1: c"}, wantWarnings: []string{"also has spec.names, which is not in the definition's"},
		},
	}
}

func evilPatch(patch map[string]any) {
	patch["spec"] = map[string]any{"template": map[string]any{"image": "evil"}}
}

// editPatch edits the patch of the revision of an image. From then on the hook must not be
// called for the image evil.
func editPatch(image string, edit func(patch map[string]any)) func(e *env) {
	return func(e *env) {
		for _, r := range e.revisions {
			if valueAt(r.Object, []string{"parentPatch", "spec", "template", "image"}) == image {
				edit(r.Object["parentPatch"].(map[string]any))
			}
		}
		failing("evil")(e)
	}
}

// TestInvalidRevisionsStay checks that a revision that is not used is neither changed nor
// deleted, however short the history is.
func TestInvalidRevisionsStay(t *testing.T) {
	c := rollingUpdateCase{revisions: []string{"v1:", "v2:", "v3: a b c"}, children: "a=v3 b=v3 c=v3", image: "v3"}
	e := c.env(t, bothInNamespace, "RollingInPlace")
	limitHistory(0)(e)
	editPatch("v1", evilPatch)(e)
	o := e.observed()
	d, err := e.desired(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v3: a b c =", "evil: ="}, describeDesiredRevisions(o, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRevisionNumber checks the number of a new revision, whatever others have been given.
func TestRevisionNumber(t *testing.T) {
	cases := map[string]struct {
		reason string
		others []string
		want   string
	}{
		"First":    {"The first is 1.", nil, "1"},
		"Next":     {"The next follows the highest.", []string{"3", "7"}, "8"},
		"Overflow": {"An absurd number does not count.", []string{"3", "9223372036854775807"}, "4"},
		"Beyond":   {"Nor does one just beyond the limit.", []string{"3", "9007199254740993"}, "4"},
		"Highest":  {"The highest that counts is not exceeded.", []string{"9007199254740992"}, "9007199254740992"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, bothInNamespace, "{method: RollingInPlace}", "a")
			for i, number := range tc.others {
				e.storeRevision(t, bothInNamespace, []string{"v7:", "v8:"}[i], 0)
				e.revisions[i].SetAnnotations(map[string]string{numberAnnotation: number})
			}
			e.setImage("v9")
			d, err := e.desired(e.observed())
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Revisions[0].GetAnnotations()[numberAnnotation]; got != tc.want {
				t.Errorf("%s\nnumber %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestFieldsOutside(t *testing.T) {
	cases := map[string]struct {
		reason, patch string
		paths, want   []string
	}{
		"None":    {"What is at a path is covered.", `{spec: {a: 1}}`, []string{"spec"}, nil},
		"Below":   {"So is what is below one.", `{spec: {a: {b: 1}}}`, []string{"spec.a"}, nil},
		"Beside":  {"What is beside a path is not.", `{spec: {a: 1, b: 2}, status: {}}`, []string{"spec.a"}, []string{"spec.b", "status"}},
		"Through": {"Nor is a value in the place of an object.", `{spec: x}`, []string{"spec.a"}, []string{"spec"}},
		"Null":    {"Null is as good as nothing.", `{spec: {a: 1, b: null}}`, []string{"spec.a"}, nil},
		"Several": {"Several paths cover each its own.", `{spec: {a: {x: 1, z: 2}, b: 2, c: 3}}`, []string{"spec.a.x", "spec.b"}, []string{"spec.a.z", "spec.c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fieldsOutside(parse(t, tc.patch), jsonvalue.SplitPaths(tc.paths)); !slices.Equal(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
