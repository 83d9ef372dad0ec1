// Package explain implements libretto explain: why a parent of a cluster is as it is, from one pass over it that writes nothing.
package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/readiness"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Story is the output of the command for one parent.
type Story struct {
	Parent      string       `json:"parent"`
	Definitions []Definition `json:"definitions"`
	Events      []Event      `json:"events,omitempty"`
}

// Definition is what one definition would do about the parent in its next pass, and why.
type Definition struct {
	Name           string `json:"name"`
	ScriptRevision string `json:"scriptRevision,omitempty"`
	// ScriptRevisionReason is why it is this one. OtherScripts is set if it is not the one that a host runs for the parent.
	ScriptRevisionReason string `json:"scriptRevisionReason,omitempty"`
	OtherScripts         bool   `json:"otherScripts,omitempty"`
	// Conditions are those of the definition that are not True.
	Conditions []Condition `json:"conditions,omitempty"`
	// Error is why the pass fails, or why the definition can't be run here.
	Error   string   `json:"error,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Rollout is the parent's condition Updated, which says what a rolling update waits for.
	Rollout string `json:"rollout,omitempty"`
	// Children are those that are as wanted.
	Children []Child `json:"children,omitempty"`
	Waits    []Wait  `json:"waits,omitempty"`
	Calls    []Call  `json:"calls,omitempty"`
	// ResyncAfter is the time until the next pass, if one is due without a change.
	ResyncAfter string `json:"resyncAfter,omitempty"`
}

// Condition is a condition of a definition.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Change is a change of an object, and why it is made.
type Change struct {
	Action preview.Action `json:"action"`
	Object string         `json:"object"`
	Why    string         `json:"why,omitempty"`
	Fields []string       `json:"fields,omitempty"`
}

// Child is a child that is as wanted.
type Child struct {
	Object string `json:"object"`
	// NotReady is why it is not ready, or empty.
	NotReady string `json:"notReady,omitempty"`
}

// Wait is what a hook waits for.
type Wait struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Call is a call of a hook.
type Call struct {
	Hook    string `json:"hook"`
	Subject string `json:"subject,omitempty"`
	// Given and Answered are the numbers of objects by kind.
	Given    map[string]int `json:"given,omitempty"`
	Answered map[string]int `json:"answered,omitempty"`
	Request  any            `json:"request,omitempty"`
	Response any            `json:"response,omitempty"`
	Logs     []string       `json:"logs,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// Event is an event about the parent.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Last    string `json:"last,omitempty"`
	Count   int64  `json:"count,omitempty"`
}

// AsWanted reports whether nothing would be done, and nothing fails or waits.
func (d *Definition) AsWanted() bool {
	return d.Error == "" && !d.OtherScripts && len(d.Changes) == 0 && len(d.Waits) == 0 && len(d.Conditions) == 0
}

// AsWanted reports whether the parent is as all definitions want it.
func (s *Story) AsWanted() bool {
	return !slices.ContainsFunc(s.Definitions, func(d Definition) bool { return !d.AsWanted() })
}

// New returns the story of a definition, from a reading with one pass. With a nil reading, err says why there is none. Requests and answers
// are in it if all is set.
func New(ctx context.Context, f livecluster.Found, reading *livecluster.Reading, err error, all bool) Definition {
	d := Definition{Name: f.Name()}
	if d.ScriptRevision, d.OtherScripts = archive.ShortID(f.Ran.Revision), f.Ran.Unlike; d.ScriptRevision != "" {
		d.ScriptRevisionReason = cmp.Or(f.Ran.Why, newestServes)
	}
	d.Conditions = falseConditions(f.Definition)
	if reading == nil {
		d.Error = err.Error()
		return d
	}
	t := &teller{ctx: ctx, subject: f.Subject, reading: reading, all: all}
	t.masker = t.newMasker()
	t.tell(&d)
	return d
}

// newestServes is why scripts are run that serve all parents.
const newestServes = "it is what the sources hold, and serves"

// Events returns events, with secrets hidden.
func Events(events []*unstructured.Unstructured, secrets []string) []Event {
	masker := jsonvalue.NewMasker(secrets)
	var all []Event
	for _, o := range events {
		text := func(field string) string { value, _ := o.Object[field].(string); return value }
		count, _ := jsonvalue.Integer(o.Object["count"])
		all = append(all, Event{
			Type: text("type"), Reason: text("reason"), Message: masker.Mask(text("message")), Last: livecluster.LastSeen(o), Count: count,
		})
	}
	return all
}

// falseConditions returns the conditions of a definition that are not True. ParentsSynced is left out: what it says of this parent the
// pass says too, and the others are other stories. So is Ready while it repeats what another one says of an edit, or that it is on its way.
func falseConditions(definition *unstructured.Unstructured) []Condition {
	conditions := jsonvalue.Conditions(definition.Object)
	var all []Condition
	pending := false
	for _, fields := range conditions {
		text := func(field string) string { value, _ := fields[field].(string); return value }
		switch kind := text("type"); {
		case kind == v1alpha1.ConditionStalled || kind == v1alpha1.ConditionReconciling:
			pending = true
		case text("status") != "True" && kind != v1alpha1.ConditionParentsSynced:
			all = append(all, Condition{Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message")})
		}
	}
	if pending {
		all = slices.DeleteFunc(all, func(c Condition) bool { return c.Type == v1alpha1.ConditionReady })
	}
	if len(conditions) == 0 {
		all = append(all, Condition{Type: "Ready", Status: "Unknown", Message: "no host has written its status: does one run?"})
	}
	return all
}

// refused is how the reason of a write begins that the API server would refuse.
const refused = "would be refused: "

// teller describes the result of one pass.
type teller struct {
	ctx     context.Context
	subject *livecluster.Subject
	reading *livecluster.Reading
	masker  *jsonvalue.Masker
	all     bool
}

// newMasker returns what hides the secrets in what was read, and in what the hooks answered.
func (t *teller) newMasker() *jsonvalue.Masker {
	return jsonvalue.NewMasker(t.subject.Secrets(t.ctx, t.reading.All()))
}

func (t *teller) tell(d *Definition) {
	result := t.reading.Result
	if result.Err != nil {
		d.Error = t.masker.Mask(result.Err.Error())
	}
	changed := map[apply.Key]bool{}
	for _, c := range result.Changes {
		changed[c.Key] = true
		d.Changes = append(d.Changes, t.change(c))
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return slices.Index(preview.Actions, a.Action) - slices.Index(preview.Actions, b.Action)
	})
	for _, w := range result.Waits {
		d.Waits = append(d.Waits, Wait{Reason: w.Reason, Message: t.masker.Mask(w.Message)})
	}
	d.Children = t.children(changed)
	if first := result.First; first != nil {
		t.tellPass(d, first)
	}
}

// tellPass adds what is only known of the pass itself.
func (t *teller) tellPass(d *Definition, first *simulation.Result) {
	switch {
	case first.RequeueAfter > 0:
		d.ResyncAfter = first.RequeueAfter.String()
	case errors.Is(first.Err, controller.ErrLater):
		d.ResyncAfter = "at once"
	}
	for _, w := range first.Writes {
		if w.Err != nil {
			d.Changes = slices.Insert(d.Changes, 0, Change{
				Action: preview.Action(w.Verb), Object: w.Key().String(), Why: refused + t.masker.Mask(w.Err.Error()),
			})
		}
	}
	if first.Parent != nil && slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Action == preview.Leave }) {
		d.Rollout = t.masker.Mask(rollout(first.Parent))
	}
	for _, call := range first.Calls {
		d.Calls = append(d.Calls, t.call(call))
	}
}

// rollout returns the message of the condition Updated, unless it is True.
func rollout(parent *unstructured.Unstructured) string {
	updated := jsonvalue.Condition(parent.Object, "Updated")
	if updated == nil || updated["status"] == "True" {
		return ""
	}
	return fmt.Sprintf("%v: %v", updated["reason"], updated["message"])
}

func (t *teller) change(c preview.Change) Change {
	change := Change{Action: c.Action, Object: c.Key.String()}
	for _, f := range c.Fields {
		change.Fields = append(change.Fields, t.masker.Mask(f.String()))
	}
	switch {
	case c.Action == preview.Delete:
		change.Why = "no hook wants it"
	case c.Action == preview.Leave && c.OnDelete:
		change.Why = "its update method is OnDelete: it is changed once it is deleted"
	case c.Action == preview.Leave:
		change.Why = "it waits for its turn in the rollout"
	}
	return change
}

// children returns the children that the pass aimed at, that are there, and that would not be changed. A pass that fails aims at none.
func (t *teller) children(changed map[apply.Key]bool) []Child {
	wanted := map[apply.Key]bool{}
	if first := t.reading.Result.First; first != nil {
		for _, object := range first.Desired {
			wanted[apply.KeyOf(object)] = true
		}
	}
	var all []Child
	for _, object := range t.reading.Objects {
		if key := apply.KeyOf(object); !wanted[key] || changed[key] {
			continue
		}
		child := Child{Object: apply.KeyOf(object).String()}
		if status := readiness.Of(object); status.State != readiness.Ready {
			child.NotReady = t.masker.Mask(cmp.Or(status.Reason, string(status.State)))
		}
		all = append(all, child)
	}
	return all
}

// call returns a call in short, and all of it if that is asked for.
func (t *teller) call(call simulation.HookCall) Call {
	c := Call{Hook: call.Hook, Subject: call.Subject, Given: map[string]int{}, Answered: map[string]int{}}
	for _, field := range []string{"children", "attachments", "outputs", "related", "inputs"} {
		for group, objects := range jsonvalue.ObjectIn(call.Request, field) {
			if n := len(jsonvalue.AsObject(objects)); n > 0 {
				kind, _, _ := strings.Cut(group, ".")
				c.Given[kind] += n
			}
		}
	}
	for _, object := range livecluster.ObjectsIn(call.Response) {
		c.Answered[object.GetKind()]++
	}
	for _, line := range call.Logs {
		c.Logs = append(c.Logs, t.masker.Mask(line))
	}
	if call.Err != nil {
		c.Error = t.masker.Mask(call.Err.Error())
	}
	if t.all {
		find := func(kind schema.GroupVersionKind) *openapi.Kind { return t.subject.Schemas.For(t.ctx, kind) }
		c.Request = jsonvalue.MapStrings(stage.HideSecrets(call.Request, find), t.masker.Mask)
		c.Response = jsonvalue.MapStrings(stage.HideSecrets(call.Response, find), t.masker.Mask)
	}
	return c
}

// counted returns numbers of objects by kind as text.
func counted(all map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%d %s", all[kind], kind))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
