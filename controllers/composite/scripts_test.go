package composite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// textID returns the ID of a revision of the scripts that is called by a letter in the tests.
func textID(letter string) string { return strings.Repeat(fmt.Sprintf("%x", letter), 32) }

func letterOf(id string) string {
	if id == "" {
		return ""
	}
	return string([]byte{(id[0]-'0')*16 + hexDigit(id[1])})
}

func hexDigit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// scriptEnv is an env whose items have an image made of the parent's and of the text that wants them: "v1/a". The text b is one that wants
// the same as a.
type scriptEnv struct {
	*env
	// broken are why texts can't be called, by letter.
	broken map[string]error
	// called are the texts that were called, and unnamed is the one that serves if it has no ID.
	called  []string
	unnamed string
}

func newScriptEnv(t *testing.T, strategy string) *scriptEnv {
	t.Helper()
	e := &scriptEnv{env: newEnv(t, bothInNamespace, strategy, "x", "y", "z"), broken: map[string]error{}}
	e.config.Spec.Hooks.Sync.Script = &v1alpha1.Script{}
	e.setRolling(true)
	e.scripts = textID("a")
	e.answer = func(call variant.Call) (any, error) {
		text := letterOf(call.ScriptRevision)
		if text == "" {
			text = cmp.Or(letterOf(e.scripts), e.unnamed)
		}
		e.called = append(e.called, text)
		if err := e.broken[text]; err != nil {
			return nil, err
		}
		body := itemsHook(call, bothInNamespace)
		for _, child := range body["children"].([]any) {
			spec := child.(map[string]any)["spec"].(map[string]any)
			spec["image"] = fmt.Sprintf("%s/%s", spec["image"], strings.ReplaceAll(text, "b", "a"))
		}
		return body, nil
	}
	return e
}

func (e *scriptEnv) setRolling(rolls bool) {
	history := *e.config.Spec.ParentResource.RevisionHistory
	if history.ScriptChanges = v1alpha1.ImmediateScriptChanges; rolls {
		history.ScriptChanges = v1alpha1.RollingScriptChanges
	}
	e.config.Spec.ParentResource.RevisionHistory = &history
}

// state returns the items and the revisions with children, as "x=v1/a y=v1/a z=v1/a | v1/a: x y z".
func (e *scriptEnv) state() string {
	slices.SortFunc(e.children, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	var lines []string
	for _, r := range e.revisions {
		names := childIDsOf(r, "prod")
		if len(names) == 0 {
			continue
		}
		line := fmt.Sprintf("%v/%s:", valueAt(r.Object, []string{"parentPatch", "spec", "template", "image"}),
			letterOf(r.GetAnnotations()[v1alpha1.ScriptRevisionAnnotation]))
		for _, id := range names {
			line += " " + id.name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return images(e.children) + " | " + strings.Join(lines, ", ")
}

// settle makes reconciles until nothing is written, and fails the test if more than one item is away from ready at any time.
func (e *scriptEnv) settle(t *testing.T) {
	t.Helper()
	for range 20 {
		if e.reconcile(t) == 0 {
			return
		}
		e.becomeReady()
	}
	t.Fatal("it does not settle")
}

// step is an edit, and the state after each number of reconciles.
type scriptStep struct {
	edit func(e *scriptEnv)
	// want are the states after the first reconciles, with all items ready in between, and settled the one at the end.
	want    []string
	settled string
}

func text(letter string) func(*scriptEnv) { return func(e *scriptEnv) { e.scripts = textID(letter) } }
func image(name string) func(*scriptEnv)  { return func(e *scriptEnv) { e.setImage(name) } }
func rolls(on bool) func(*scriptEnv)      { return func(e *scriptEnv) { e.setRolling(on) } }
func hold(on bool) func(*scriptEnv) {
	return func(e *scriptEnv) { e.config.Spec.ChildResources[0].UpdateStrategy.Paused = &on }
}
func both(edits ...func(*scriptEnv)) func(*scriptEnv) {
	return func(e *scriptEnv) {
		for _, edit := range edits {
			edit(e)
		}
	}
}
func broken(letter string) func(*scriptEnv) {
	return func(e *scriptEnv) { e.broken[letter] = errors.New("it is gone") }
}
func without(name string) func(*scriptEnv) {
	return func(e *scriptEnv) {
		e.children = slices.DeleteFunc(e.children, func(o *unstructured.Unstructured) bool { return o.GetName() == name })
	}
}

const allOfA = "x=v1/a y=v1/a z=v1/a | v1/a: x y z"

// TestScriptChanges goes through edits of the parent and of the scripts.
func TestScriptChanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []scriptStep
	}{
		"Script": {"An edit of the scripts moves items one after another.", []scriptStep{
			{text("c"), []string{
				"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x", "x=v1/c y=v1/c z=v1/a | v1/a: z, v1/c: x y", "x=v1/c y=v1/c z=v1/c | v1/c: x y z",
			}, "x=v1/c y=v1/c z=v1/c | v1/c: x y z"},
		}},
		"SameAnswer": {"Items that an edit leaves as they are belong to it at once.", []scriptStep{
			{text("b"), []string{"x=v1/a y=v1/a z=v1/a | v1/b: x y z"}, "x=v1/a y=v1/a z=v1/a | v1/b: x y z"},
		}},
		"Back": {"The text is edited back in the middle.", []scriptStep{
			{text("c"), []string{"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x", "x=v1/c y=v1/c z=v1/a | v1/a: z, v1/c: x y"}, ""},
			{text("a"), []string{"x=v1/a y=v1/c z=v1/a | v1/a: x z, v1/c: y", allOfA}, allOfA},
		}},
		"Twice": {"A second edit in the middle leaves three texts for a while.", []scriptStep{
			{text("c"), []string{"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x"}, ""},
			{text("d"), []string{
				"x=v1/d y=v1/a z=v1/a | v1/a: y z, v1/d: x", "x=v1/d y=v1/d z=v1/a | v1/a: z, v1/d: x y",
			}, "x=v1/d y=v1/d z=v1/d | v1/d: x y z"},
		}},
		"ParentThenScript": {"The scripts are edited while a change of the parent is on its way.", []scriptStep{
			{image("v2"), []string{"x=v2/a y=v1/a z=v1/a | v1/a: y z, v2/a: x"}, ""},
			{text("c"), []string{"x=v2/c y=v1/a z=v1/a | v1/a: y z, v2/c: x"}, "x=v2/c y=v2/c z=v2/c | v2/c: x y z"},
		}},
		"ScriptThenParent": {"The parent is edited while a change of the scripts is on its way.", []scriptStep{
			{text("c"), []string{"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x"}, ""},
			{image("v2"), []string{"x=v2/c y=v1/a z=v1/a | v1/a: y z, v2/c: x"}, "x=v2/c y=v2/c z=v2/c | v2/c: x y z"},
		}},
		"Paused": {"A paused rollout holds both, and a lost item comes back as the old text wants it.", []scriptStep{
			{both(hold(true), text("c"), image("v2")), []string{"x=v1/a y=v1/a z=v1/a | v1/a: x y z"}, allOfA},
			{without("y"), []string{allOfA}, allOfA},
			{hold(false), []string{"x=v2/c y=v1/a z=v1/a | v1/a: y z, v2/c: x"}, "x=v2/c y=v2/c z=v2/c | v2/c: x y z"},
		}},
		"Gone": {"Where the old text is gone, items stay until their turn, and a lost one is created anew.", []scriptStep{
			{both(broken("a"), text("c")), []string{"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x"}, ""},
			{without("z"), []string{"x=v1/c y=v1/a z=v1/c | v1/a: y, v1/c: x z"}, "x=v1/c y=v1/c z=v1/c | v1/c: x y z"},
		}},
		"GonePaused": {"While they are held they stay as they are; a lost one is not created before the rollout goes on.", []scriptStep{
			{both(hold(true), broken("a"), text("c")), []string{allOfA}, allOfA},
			{without("y"), []string{"x=v1/a z=v1/a | v1/a: x z"}, "x=v1/a z=v1/a | v1/a: x z"},
			{hold(false), nil, "x=v1/c y=v1/c z=v1/c | v1/c: x y z"},
		}},
		"On": {"The setting comes: nothing moves, and the scripts are noted.", []scriptStep{
			{rolls(false), []string{"x=v1/a y=v1/a z=v1/a | v1/: x y z"}, "x=v1/a y=v1/a z=v1/a | v1/: x y z"},
			{rolls(true), []string{allOfA}, allOfA},
		}},
		"OnWithEdit": {"It comes together with an edit: that moves items one after another.", []scriptStep{
			{rolls(false), nil, "x=v1/a y=v1/a z=v1/a | v1/: x y z"},
			{both(rolls(true), text("c")), []string{"x=v1/c y=v1/a z=v1/a | v1/: y z, v1/c: x"}, "x=v1/c y=v1/c z=v1/c | v1/c: x y z"},
		}},
		"OnInTheMiddle": {"It comes while a change of the parent is held: items of an unknown text stay, and a lost one is made by the text that serves.", []scriptStep{
			{rolls(false), nil, "x=v1/a y=v1/a z=v1/a | v1/: x y z"},
			{both(hold(true), image("v2")), nil, "x=v1/a y=v1/a z=v1/a | v1/: x y z"},
			{both(rolls(true), text("c")), nil, "x=v1/a y=v1/a z=v1/a | v1/: x y z"},
			{without("y"), nil, "x=v1/a y=v1/c z=v1/a | v1/: x y z"},
			{hold(false), nil, "x=v2/c y=v2/c z=v2/c | v2/c: x y z"},
		}},
		"Off": {"The setting goes in the middle: what is on its way goes on.", []scriptStep{
			{text("c"), []string{"x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x"}, ""},
			{rolls(false), []string{"x=v1/c y=v1/c z=v1/a | v1/: x y, v1/a: z"}, "x=v1/c y=v1/c z=v1/c | v1/: x y z"},
			{text("d"), []string{"x=v1/d y=v1/d z=v1/d | v1/: x y z"}, "x=v1/d y=v1/d z=v1/d | v1/: x y z"},
		}},
		"OffWithEdit": {"It goes together with an edit: that is the last one that is rolled out.", []scriptStep{
			{both(rolls(false), text("c")), []string{"x=v1/c y=v1/a z=v1/a | v1/: x, v1/a: y z"}, "x=v1/c y=v1/c z=v1/c | v1/: x y z"},
		}},
		"Offline": {"Where scripts have no ID there is one text, and the stored one counts as it.", []scriptStep{
			{func(e *scriptEnv) { e.scripts, e.unnamed = "", "a" }, []string{allOfA}, allOfA},
			{image("v2"), []string{"x=v2/a y=v1/a z=v1/a | v1/a: y z, v2/: x"}, "x=v2/a y=v2/a z=v2/a | v2/: x y z"},
		}},
	}
	for name, tc := range cases {
		for _, method := range []string{"RollingInPlace", "RollingRecreate"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				e := newScriptEnv(t, "{method: "+method+", "+ready+"}")
				e.settle(t)
				if diff := gocmp.Diff(allOfA, e.state()); diff != "" {
					t.Fatalf("at first: -want +got:\n%s", diff)
				}
				for i, step := range tc.steps {
					e.run(t, tc.reason, i, step, method)
				}
			})
		}
	}
}

// run makes the edit of a step and checks the states after it. A recreated item takes two reconciles.
func (e *scriptEnv) run(t *testing.T, reason string, number int, step scriptStep, method string) {
	t.Helper()
	step.edit(e)
	for i, want := range step.want {
		e.reconcile(t)
		e.becomeReady()
		for method == "RollingRecreate" && e.recreates() {
			e.reconcile(t)
			e.becomeReady()
		}
		if diff := gocmp.Diff(want, e.state()); diff != "" {
			t.Fatalf("%s\nstep %d, reconcile %d: -want +got:\n%s", reason, number, i, diff)
		}
	}
	if step.settled == "" {
		return
	}
	e.settle(t)
	if diff := gocmp.Diff(step.settled, e.state()); diff != "" {
		t.Errorf("%s\nstep %d: at the end: -want +got:\n%s", reason, number, diff)
	}
}

// recreates reports whether an item that a revision lists is missing, and would be created.
func (e *scriptEnv) recreates() bool {
	there := map[string]bool{}
	for _, child := range e.children {
		there[child.GetName()] = true
	}
	for _, r := range e.revisions {
		for _, id := range childIDsOf(r, "prod") {
			if !there[id.name] {
				return true
			}
		}
	}
	return false
}

// TestScriptRevisionsBelieved changes stored ControllerRevisions, and compares which items are updated while the rollout is paused.
func TestScriptRevisionsBelieved(t *testing.T) {
	annotate := func(id string) func(*scriptEnv) {
		return func(e *scriptEnv) {
			for i, r := range e.revisions {
				e.revisions[i] = withScripts(r, id)
			}
		}
	}
	rename := func(legacy bool) func(*scriptEnv) {
		return func(e *scriptEnv) {
			for i, r := range e.revisions {
				e.revisions[i] = withScripts(r, "")
				names, err := New(e.config).revisionNames(e.parent, r.Object["parentPatch"].(map[string]any), "")
				if err != nil {
					panic(err)
				}
				if e.revisions[i].SetName(names.own); legacy {
					e.revisions[i].SetName(names.legacy)
					unlabel(e.revisions[i])
				}
			}
		}
	}
	cases := map[string]struct {
		reason  string
		edit    func(*scriptEnv)
		text    string
		want    string
		called  string
		warning string
	}{
		"AsWritten": {"The old text is called for items of the old revision.", func(*scriptEnv) {}, "c", allOfA, "c a", ""},
		"Edited": {"An annotation that does not fit the name chooses no text.", annotate(textID("d")), "c",
			"x=v1/a y=v1/a z=v1/a | v1/d: x y z", "c", "its name is not that of its parentPatch with annotation"},
		"Removed": {"Nor does one that was taken off.", annotate(""), "c", "x=v1/a y=v1/a z=v1/a | v1/: x y z", "c", "its name is not that of its"},
		"NoID": {"Nor what is no ID, even under a name that fits.", func(e *scriptEnv) {
			annotate("../../x")(e)
			names, _ := New(e.config).revisionNames(e.parent, e.revisions[0].Object["parentPatch"].(map[string]any), "../../x")
			e.revisions[0].SetName(names.own)
		}, "c", "", "c", "its name is not that of its"},
		"EditedPresent": {"The content of the present state is known, and is written again.", annotate(textID("d")), "a", allOfA, "a", "is written again"},
		"Earlier": {"One without the annotation is of an unknown text: the one that serves is called, and changes nothing.", rename(false), "c",
			"x=v1/a y=v1/a z=v1/a | v1/: x y z", "c c", ""},
		"Metacontroller": {"So is one of metacontroller's.", rename(true), "c", "x=v1/a y=v1/a z=v1/a | v1/: x y z", "c c", ""},
		"Unedited":       {"Without an edit the items of metacontroller's go over unchanged.", rename(true), "a", allOfA, "a a", ""},
		"Gone":           {"The error says why an old text can't be used, and the way out.", broken("a"), "c", allOfA, "c a", "revision 6161616161616161 of the scripts, which can't be used"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newScriptEnv(t, "{method: RollingInPlace, "+ready+"}")
			e.settle(t)
			hold(true)(e)
			tc.edit(e)
			text(tc.text)(e)
			e.called = nil
			o := e.observed()
			d, err := e.desired(o)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := gocmp.Diff(tc.called, strings.Join(e.called, " ")); diff != "" {
				t.Errorf("%s\ntexts that were called: -want +got:\n%s", tc.reason, diff)
			}
			if got := fmt.Sprint(d.Warnings); tc.warning == "" && got != "[]" || !strings.Contains(got, tc.warning) {
				t.Errorf("%s\nwarnings %s, want %q", tc.reason, got, tc.warning)
			}
			e.reconcile(t)
			if diff := gocmp.Diff(tc.want, e.state()); tc.want != "" && diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOldScriptsFail tells what the answer of an old text does to the rest.
func TestOldScriptsFail(t *testing.T) {
	cases := map[string]struct {
		reason    string
		old       func(body map[string]any) error
		present   func(body map[string]any) error
		finalize  bool
		err       string
		waits     bool
		finalized bool
	}{
		"Fails":   {reason: "An old text that fails does not keep the edit back that corrects it.", old: func(map[string]any) error { return errors.New("boom") }},
		"Invalid": {reason: "Nor does one whose answer is invalid.", old: func(body map[string]any) error { body["children"] = "x"; return nil }},
		"Waits": {reason: "Nor one that waits.", old: func(body map[string]any) error {
			body["waiting"] = map[string]any{"reason": "Waits", "message": "for Godot"}
			delete(body, "children")
			return nil
		}},
		"PresentFails": {reason: "If the present one fails the pass does.", present: func(map[string]any) error { return errors.New("boom") }, err: "boom"},
		"PresentWaits": {reason: "If the present one waits nothing is decided.", present: func(body map[string]any) error {
			body["waiting"] = map[string]any{"reason": "Waits", "message": "for Godot"}
			delete(body, "children")
			return nil
		}, waits: true},
		"Finalized": {reason: "An old text that fails does not keep a parent from being finalized.", finalize: true, finalized: true, old: func(map[string]any) error { return errors.New("boom") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newScriptEnv(t, "{method: RollingInPlace, "+ready+"}")
			e.settle(t)
			text("c")(e)
			answer := e.answer
			e.answer = func(call variant.Call) (any, error) {
				body, err := answer(call)
				change := tc.present
				if call.ScriptRevision != "" {
					change = tc.old
				}
				fields := body.(map[string]any)
				if fields["finalized"] = tc.finalize; change != nil {
					err = change(fields)
				}
				return fields, err
			}
			o := e.observed()
			d, err := e.desired(o)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s\nerror %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if waits := d.Waiting != nil; waits != tc.waits || d.Finalized != tc.finalized {
				t.Errorf("%s\nwaits %t, finalized %t", tc.reason, waits, d.Finalized)
			}
			if tc.old == nil {
				return
			}
			if !d.TimeDependent || d.ResyncAfterSeconds != retryUnusable || len(d.Warnings) != 1 || d.Warnings[0].Reason != variant.ReasonScriptRevisionUnusable {
				t.Errorf("%s\nthe text is not tried again, or nothing is reported: %+v", tc.reason, d)
			}
			e.reconcile(t)
			if diff := gocmp.Diff("x=v1/c y=v1/a z=v1/a | v1/a: y z, v1/c: x", e.state()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestScriptHistory checks that edits of the scripts do not push states of the parent out of the history, and which scripts it names.
func TestScriptHistory(t *testing.T) {
	e := newScriptEnv(t, "{method: RollingInPlace}")
	e.settle(t)
	for _, edit := range []func(*scriptEnv){image("v2"), text("c"), text("d"), image("v3"), text("e"), text("f")} {
		edit(e)
		e.settle(t)
	}
	var got []string
	for _, r := range e.revisions {
		got = append(got, fmt.Sprintf("%v/%s", valueAt(r.Object, []string{"parentPatch", "spec", "template", "image"}),
			letterOf(r.GetAnnotations()[v1alpha1.ScriptRevisionAnnotation])))
	}
	slices.Sort(got)
	if diff := gocmp.Diff([]string{"v1/a", "v2/d", "v3/f"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	v := New(e.config)
	if diff := gocmp.Diff([]string{textID("f")}, v.ScriptRevisions(e.revisions)); diff != "" {
		t.Errorf("the scripts that are in use: -want +got:\n%s", diff)
	}
	text("g")(e)
	e.reconcile(t)
	if diff := gocmp.Diff([]string{textID("f"), textID("g")}, v.ScriptRevisions(e.revisions)); diff != "" {
		t.Errorf("the scripts that are in use during a rollout: -want +got:\n%s", diff)
	}
	unlabel(e.revisions[0])
	for i := range e.revisions {
		e.revisions[i] = withScripts(e.revisions[i], "x")
	}
	if got := v.ScriptRevisions(e.revisions); len(got) > 0 {
		t.Errorf("what is no ID counts: %q", got)
	}
}

// TestScriptChangesOfWebhooks checks that what a webhook answers has no scripts.
func TestScriptChangesOfWebhooks(t *testing.T) {
	e := newScriptEnv(t, "{method: RollingInPlace}")
	e.config.Spec.Hooks.Sync.Script, e.config.Spec.Hooks.Sync.Webhook = nil, &v1alpha1.Webhook{}
	e.settle(t)
	if diff := gocmp.Diff("x=v1/a y=v1/a z=v1/a | v1/: x y z", e.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
