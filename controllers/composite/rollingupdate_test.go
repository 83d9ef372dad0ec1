package composite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

const ready = `statusChecks: {conditions: [{type: Ready, status: "True"}]}`

// rollingUpdateCase is one reconcile of a parent, by default at image v2 with the items a, b and c.
type rollingUpdateCase struct {
	reason string
	// strategy is added to the method, as YAML. method narrows the case to one.
	strategy, method string
	names, image     string
	// revisions are stored, as "v1: a b", a minute apart, the last a minute old.
	revisions []string
	// children are observed, as "a=v1 b=v1". They are ready, except for "a=v1!" which is
	// not, "a=v1-" which is being deleted and "a=v1~" whose status is old.
	children string
	edit     func(e *env)

	// wantRevisions end in "=" if they are the observed objects themselves.
	wantRevisions             []string
	wantImages, wantCondition string
	wantKeep                  string
	wantResync                float64
	wantErr                   string
	// wantWarnings are parts of the warnings, one each.
	wantWarnings []string
}

// TestRollingUpdate makes one reconcile in all combinations of scopes and methods.
func TestRollingUpdate(t *testing.T) {
	cases := rollingUpdateCases()
	if len(cases) < 45 {
		t.Fatalf("%d cases", len(cases))
	}
	scopes := map[string]scope{"NamespacedNamespaced": bothInNamespace, "ClusterNamespaced": childInOne, "ClusterCluster": bothInNone}
	for name, tc := range cases {
		for place, s := range scopes {
			for _, method := range []string{"RollingRecreate", "RollingInPlace"} {
				if tc.method == "" || tc.method == method {
					t.Run(name+"/"+place+"/"+method, func(t *testing.T) { tc.run(t, s, method) })
				}
			}
		}
	}
}

func (c rollingUpdateCase) run(t *testing.T, s scope, method string) {
	e := c.env(t, s, method)
	o := e.observed()
	before := e.observed()
	d, err := e.desired(o)
	if diff := cmp.Diff(before, o, cmpopts.IgnoreFields(o, "UpToDate")); diff != "" {
		t.Errorf("the observed state was changed:\n%s", diff)
	}
	if c.wantErr != "" {
		if err == nil || !strings.Contains(err.Error(), c.wantErr) {
			t.Fatalf("%s\nwant error %q\ngot %v", c.reason, c.wantErr, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", c.reason, err)
	}
	got := rollingUpdateCase{
		wantImages: images(d.Children), wantCondition: withoutScope(describeCondition(d.Status)), wantKeep: describeKeep(d), wantResync: d.ResyncAfterSeconds,
		wantRevisions: describeDesiredRevisions(o, d),
	}
	want := rollingUpdateCase{wantImages: c.wantImages, wantCondition: c.wantCondition, wantKeep: c.wantKeep, wantResync: c.wantResync, wantRevisions: c.wantRevisions}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(rollingUpdateCase{})); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
	}
	matches := func(w variant.Warning, part string) bool {
		exceeded := strings.HasPrefix(c.wantCondition, deadlineExceeded)
		return (w.Reason == variant.ReasonRevisionInvalid || exceeded && w.Reason == reasonDeadlineExceeded) && strings.Contains(w.Message, part)
	}
	if !slices.EqualFunc(d.Warnings, c.wantWarnings, matches) {
		t.Errorf("%s\nwarnings %q, want %q", c.reason, d.Warnings, c.wantWarnings)
	}
}

func (c rollingUpdateCase) env(t *testing.T, s scope, method string) *env {
	t.Helper()
	names := "a b c"
	if c.names != "" {
		names = c.names
	}
	strategy := "{method: " + method + "}"
	if c.strategy != "" {
		strategy = "{method: " + method + ", " + c.strategy + "}"
	}
	e := newEnv(t, s, strategy, strings.Fields(names)...)
	for i, line := range c.revisions {
		e.storeRevision(t, s, line, time.Duration(len(c.revisions)-i)*time.Minute)
	}
	for word := range strings.FieldsSeq(c.children) {
		e.addChild(t, s, word)
	}
	e.setImage("v2")
	if c.image != "" {
		e.setImage(c.image)
	}
	if c.edit != nil {
		c.edit(e)
	}
	return e
}

// storeRevision adds a ControllerRevision, as "v1: a b".
func (e *env) storeRevision(t *testing.T, s scope, line string, age time.Duration) {
	t.Helper()
	image, ids, _ := strings.Cut(line, ":")
	e.setImage(image)
	v := New(e.config)
	h, err := v.history(variant.Observed{Parent: e.parent})
	if err != nil {
		t.Fatal(err)
	}
	var held []childID
	for name := range strings.FieldsSeq(ids) {
		held = append(held, idOf(item(s, name), s.parent))
	}
	record, err := v.newRevisionObject(e.parent, h.updateRevision, held)
	if err != nil {
		t.Fatal(err)
	}
	record.SetCreationTimestamp(metav1.NewTime(start.Add(-age)))
	e.revisions = e.put(e.revisions, record)
	e.revisions[len(e.revisions)-1].SetCreationTimestamp(metav1.NewTime(start.Add(-age)))
}

func item(s scope, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(s.resource().Kind)
	object.SetName(name)
	if s.child != "" {
		object.SetNamespace(s.child)
	}
	return object
}

// addChild adds a child as the host has created it, as "a=v1".
func (e *env) addChild(t *testing.T, s scope, word string) {
	t.Helper()
	name, image, _ := strings.Cut(word, "=")
	image, mark := image[:2], image[2:]
	e.setImage(image)
	body := itemsHook(variant.Call{Request: map[string]any{"parent": jsonvalue.WithValueAt(e.parent.Object, []string{"spec", "names"}, []any{name})}}, s)
	v := New(e.config)
	child := v.withUIDLabel(&unstructured.Unstructured{Object: body["children"].([]any)[0].(map[string]any)}, e.parent)
	e.perform(e.changes(t, variant.Observed{}, variant.Desired{Children: []*unstructured.Unstructured{child}})[0])
	made := e.children[len(e.children)-1]
	setReady(made, "True")
	switch mark {
	case "!":
		setReady(made, "False")
	case "-":
		made.SetDeletionTimestamp(&metav1.Time{Time: start})
	case "~":
		made.SetGeneration(2)
	}
}

// withoutScope removes kinds and namespaces, which differ between scopes, and the hash of a
// revision's name.
func withoutScope(message string) string {
	message, _, _ = strings.Cut(strings.NewReplacer("Item prod/", "", "Node ", "").Replace(message), " sets.test.example-")
	return message
}

func describeKeep(d variant.Desired) string {
	var names []string
	for key := range d.Keep {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// describeDesiredRevisions returns the desired revisions. Unchanged ones end in "=".
func describeDesiredRevisions(o variant.Observed, d variant.Desired) []string {
	lines := describeRevisions(d.Revisions)
	for i, r := range d.Revisions {
		if slices.Contains(o.Revisions, r) {
			lines[i] += " ="
		}
	}
	return lines
}

func failing(image string) func(e *env) {
	return func(e *env) {
		answer := e.answer
		e.answer = func(call variant.Call) (any, error) {
			if valueAt(call.Request["parent"].(map[string]any), []string{"spec", "template", "image"}) == image {
				return nil, errors.New("boom")
			}
			return answer(call)
		}
	}
}

func answering(change func(body map[string]any, call variant.Call)) func(e *env) {
	return func(e *env) {
		answer := e.answer
		e.answer = func(call variant.Call) (any, error) {
			body, err := answer(call)
			change(body.(map[string]any), call)
			return body, err
		}
	}
}

func limitHistory(n int32) func(e *env) {
	return func(e *env) { e.config.Spec.RevisionHistoryLimit = &n }
}

const (
	onLatest         = "True OnLatestRevision: latest ControllerRevision:"
	updating         = "False RolloutProgressing: updating "
	waiting          = "False RolloutWaiting: "
	deadlineExceeded = "False ProgressDeadlineExceeded: "
)

func rollingUpdateCases() map[string]rollingUpdateCase {
	all := map[string]rollingUpdateCase{}
	for _, part := range []map[string]rollingUpdateCase{orderCases(), healthCases(), changeCases(), limitCases(), scaleCases(), reverseCases(), answerCases(), recordCases(), editedCases()} {
		for name, c := range part {
			if _, twice := all[name]; twice {
				panic(fmt.Sprintf("%s is defined twice", name))
			}
			all[name] = c
		}
	}
	return all
}
