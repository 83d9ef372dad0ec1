package diff

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

func key(kind, name string) apply.Key {
	return apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "default", Name: name}
}

// outcome returns one about a parent with changes.
func outcome(i int, changes ...preview.Change) *preview.Result {
	return &preview.Result{Parent: key("Box", fmt.Sprintf("box-%d", i)), Changes: changes}
}

func change(action preview.Action, kind string, i int, fields ...fielddiff.Diff) preview.Change {
	return preview.Change{Action: action, Key: key(kind, fmt.Sprintf("c-%d", i)), Fields: fields}
}

// TestText writes the results of five parents: the losses first, equal changes as one.
func TestText(t *testing.T) {
	r := New("CompositeController boxes")
	image := func(to string) fielddiff.Diff { return fielddiff.Diff{Path: "image", From: `"a"`, To: to} }
	for i := range 5 {
		r.Add(outcome(i, change(preview.Update, "ConfigMap", i, image(`"b"`)), change(preview.Update, "Secret", i, image(fmt.Sprint(i)))))
	}
	r.Add(outcome(5, change(preview.Create, "Policy", 5), change(preview.Delete, "ConfigMap", 5)))
	r.Add(outcome(6, change(preview.Recreate, "Pod", 6, image(`"c"`)), change(preview.Recreate, "Pod", 7, image(`"c"`))))
	r.Add(outcome(7, change(preview.Status, "Box", 7, image(`"d"`))))
	waits := outcome(8)
	waits.Waits = []variant.Wait{{Reason: "NoSecret", Message: "for a Secret"}}
	r.Add(waits)
	r.Add(&preview.Result{Parent: key("Box", "bad"), Err: errors.New("sync.js:1:2: \x1b[31mno\nyes")})
	wait := waits.Waits[0].String()
	var b strings.Builder
	if err := Text(&b, []*Report{r}, false); err != nil {
		t.Fatal(err)
	}
	want := `CompositeController boxes

- delete 1 ConfigMap of 1 parent
    default/c-5
-/+ recreate 2 Pods of 1 parent
      image: "a" becomes "c"
    default/c-6
    default/c-7
~ update 5 ConfigMaps of 5 parents
      image: "a" becomes "b"
    default/c-0
    default/c-1
    default/c-2
    and 2 more
~ update 5 Secrets of 5 parents
      image: "a" becomes 0, and others to other values
    default/c-0
    default/c-1
    default/c-2
    and 2 more
+ create 1 Policy of 1 parent
    default/c-5
~ update status 1 Box of 1 parent
      image: "a" becomes "d"
    default/c-7
= 1 parent waits: WAIT
    Box default/box-8
! 1 parent fails: sync.js:1:2: ` + "\ufffd" + `[31mno yes
    Box default/bad

10 parents: 1 unchanged, 1 status only, 5 update, 1 recreate 2 Pods, 1 delete 1 ConfigMap, 1 fail
`
	want = strings.Replace(want, "WAIT", wait, 1)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !r.Destroys() || !r.Fails() {
		t.Errorf("it destroys: %v, and fails: %v", r.Destroys(), r.Fails())
	}
}

// TestShapes adds changes of more shapes than are shown each: the rest is one group, so that a report stays small.
func TestShapes(t *testing.T) {
	r := New("CompositeController boxes")
	for i := range 1000 {
		r.Add(outcome(i, change(preview.Update, "ConfigMap", i, fielddiff.Diff{Path: fmt.Sprint("data.", i), To: "1"})))
	}
	if len(r.order) != maxShapes+1 || len(r.order[maxShapes].objects) != 1000-maxShapes || r.Summary() != "1000 parents: 0 unchanged, 1000 update, 0 delete" {
		t.Errorf("%d groups: %s", len(r.order), r.Summary())
	}
}

// TestMarkdown has a value that looks like the end of the block.
func TestMarkdown(t *testing.T) {
	r := New("CompositeController boxes")
	r.Add(outcome(0, change(preview.Update, "ConfigMap", 0, fielddiff.Diff{Path: "a", To: "```"})))
	var b strings.Builder
	if err := Markdown(&b, []*Report{r}); err != nil {
		t.Fatal(err)
	}
	want := "### CompositeController boxes\n\n**1 parent: 0 unchanged, 1 update, 0 delete**\n\n````diff\n" +
		"~ update 1 ConfigMap of 1 parent\n      a: nothing becomes ```\n    default/c-0\n````\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFailures adds parents that fail each in another way: a report stays small.
func TestFailures(t *testing.T) {
	r := New("CompositeController \x1b[31mboxes")
	for i := range 1000 {
		o := outcome(i)
		o.Err = fmt.Errorf("bad %d", i)
		r.Add(o)
	}
	var b strings.Builder
	if err := Text(&b, []*Report{r}, false); err != nil {
		t.Fatal(err)
	}
	if len(r.failed) != maxFailures+1 || len(r.failures) != maxFailures+1 || !strings.Contains(b.String(), "! 980 parents fail: in other ways\n") {
		t.Errorf("%d failures:\n%s", len(r.failed), b.String())
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("the name of the definition reaches the terminal: %q", b.String())
	}
}

// TestEditLines tells what a host makes of an edit that it does not hold.
func TestEditLines(t *testing.T) {
	const id = "1060ddcff4550b3b1060ddcff4550b3b"
	for name, c := range map[string]struct {
		edit         rollout.Verdict
		held, others []string
	}{
		"no edit":  {},
		"harmless": {edit: rollout.Verdict{Revision: id, Basis: "previewed on 2 of 2 parents"}, others: []string{"= a host would let this edit through, revision 1060ddcff4550b3b: previewed on 2 of 2 parents"}},
		"waits":    {edit: rollout.Verdict{Revision: id, Basis: "it is pinned", Waits: true}, others: []string{"= a host would not begin with this edit, revision 1060ddcff4550b3b: it is pinned"}},
		"parents that are left out": {edit: rollout.Verdict{Deselected: 1}, held: []string{
			"! 1 parent is selected no more: what was made for it stays and is not updated any more: correct the selector or its labels, or delete what is not wanted by hand",
		}},
		"several": {edit: rollout.Verdict{Deselected: 2}, held: []string{
			"! 2 parents are selected no more: what was made for them stays and is not updated any more: correct the selector or their labels, or delete what is not wanted by hand",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			held, others := editLines(c.edit)
			if diff := cmp.Diff([][]string{c.held, c.others}, [][]string{held, others}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
