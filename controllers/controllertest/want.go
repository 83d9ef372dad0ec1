package controllertest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// comparison compares the result of a step with what is wanted.
type comparison struct {
	*stepRun
	ctx  context.Context
	want *Want
	// all are the objects of the cluster, and controlled those that the parents of the step control.
	all, controlled []*unstructured.Unstructured
}

// compare compares the result of the step.
func (s *stepRun) compare(ctx context.Context) error {
	if s.Want == nil {
		return nil
	}
	c := &comparison{stepRun: s, ctx: ctx, want: s.Want, all: s.session.Cluster().Snapshot()}
	for _, object := range c.all {
		if owner := metav1.GetControllerOf(object); owner != nil {
			if slices.ContainsFunc(s.parents, func(p *parentState) bool { return p.uid == owner.UID }) {
				c.controlled = append(c.controlled, object)
			}
		}
	}
	for _, p := range s.parents {
		if ctx.Err() != nil {
			break
		}
		c.compareParent(p)
	}
	if len(s.parents) == 0 && (c.want.Parent != nil || c.want.Status != nil || c.want.Conditions != nil) {
		c.mismatchf(".want", "there is no parent: %s", s.parentNames())
	}
	c.compareObjects()
	c.compareCounts()
	c.compareWrites()
	c.compareEvents()
	c.compareLogs()
	if err := c.compareSnapshot(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // What was compared by then says nothing about the rest.
	}
	return c.compareWaiting(ctx)
}

// mismatchf notes that an entry was not fulfilled.
func (c *comparison) mismatchf(field, format string, args ...any) {
	c.fail(Failure{Location: c.place(field), Message: fmt.Sprintf(format, args...)})
}

// compareParent compares a parent with what is wanted of each.
func (c *comparison) compareParent(p *parentState) {
	object := c.find(p)
	if want := c.want.Finalized; want != nil && *want != (object == nil) {
		if *want {
			c.mismatchf(".want.finalized", "%s is still there: its finalizers are %s", p.name(), inline(stringsOf(object.GetFinalizers())))
		} else {
			c.mismatchf(".want.finalized", "%s is gone", p.name())
		}
	}
	if want := c.want.ResyncAfter; want != nil && p.last != nil && p.last.RequeueAfter != want.Duration {
		c.mismatchf(".want.resyncAfter", "the next pass over %s is %s, want %s", p.name(), nextPass(p.last.RequeueAfter), nextPass(want.Duration))
	}
	if object == nil {
		if c.want.Parent != nil || c.want.Status != nil || c.want.Conditions != nil {
			c.mismatchf(".want", "%s is gone, and so are its fields", p.name())
		}
		return
	}
	if c.want.Parent != nil {
		c.comparePart(".want.parent", string(p.name()), c.want.Parent, object.Object)
	}
	if c.want.Status != nil {
		c.comparePart(".want.status", string(p.name())+": status", c.want.Status, withObject(object.Object["status"]))
	}
	c.compareConditions(p, object)
}

func nextPass(after time.Duration) string {
	if after > 0 {
		return "after " + after.String()
	}
	return "at the next event"
}

func withObject(value any) any {
	if value == nil {
		return map[string]any{}
	}
	return value
}

func stringsOf(list []string) any {
	all := make([]any, len(list))
	for i, text := range list {
		all[i] = text
	}
	return all
}

// find returns the parent in the cluster, or nil.
func (c *comparison) find(p *parentState) *unstructured.Unstructured {
	for _, object := range c.all {
		if object.GetUID() == p.uid && nameOfObject(object) == p.name() {
			return object
		}
	}
	return nil
}

// comparePart compares a value with a part. The failure has the place of the first field that differs.
func (r *runner) comparePart(field, what string, want, got any) {
	all := differences("", want, got)
	if len(all) == 0 {
		return
	}
	message := what + ": " + all[0].String()
	if n := len(all) - 1; n > 0 {
		message += fmt.Sprintf(" (and %d more)", n)
	}
	r.fail(Failure{Location: r.place(field + all[0].below()), Message: message, Diff: diffLines(want, got)})
}

// below returns the path as it is appended to another one.
func (d difference) below() string {
	if d.path == "" || strings.HasPrefix(d.path, "[") {
		return d.path
	}
	return "." + d.path
}

func (c *comparison) compareConditions(p *parentState, object *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	list, _ := conditions.([]any)
	for _, name := range slices.Sorted(maps.Keys(c.want.Conditions)) {
		want := c.want.Conditions[name]
		field := ".want.conditions" + strings.TrimPrefix(join(".", name), ".")
		i := slices.IndexFunc(list, func(item any) bool { return jsonvalue.AsObject(item)["type"] == name })
		switch part := want.(type) {
		case map[string]any:
			c.compareCondition(field, p, name, part, list, i)
		case nil:
			if i >= 0 {
				c.mismatchf(field, "%s has the condition %s, want none: it is %s", p.name(), name, inline(list[i]))
			}
		default:
			c.compareCondition(field, p, name, map[string]any{"status": conditionStatus(want)}, list, i)
		}
	}
}

// conditionStatus returns a status in the form that conditions have: True without quotes is no string in YAML.
func conditionStatus(value any) any {
	if truth, ok := value.(bool); ok {
		return map[bool]string{true: "True", false: "False"}[truth]
	}
	return value
}

func (c *comparison) compareCondition(field string, p *parentState, name string, want map[string]any, list []any, i int) {
	if i < 0 {
		var types []string
		for _, item := range list {
			types = append(types, text(jsonvalue.AsObject(item)["type"]))
		}
		c.mismatchf(field, "%s has no condition %s: it has %s", p.name(), name, listed(types))
		return
	}
	got := jsonvalue.AsObject(list[i])
	all := differences("", want, got)
	if len(all) == 0 {
		return
	}
	message := fmt.Sprintf("%s: condition %s: %s", p.name(), name, all[0])
	if because, _ := got["message"].(string); because != "" && all[0].path == "status" {
		message += fmt.Sprintf(" (%v: %s)", got["reason"], because)
	}
	c.fail(Failure{Location: c.place(field), Message: message, Diff: diffLines(want, got)})
}

// listed returns names as a part of a sentence.
func listed[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = string(name)
	}
	return strings.Join(all, ", ")
}

// compareObjects compares the parts that objects must match.
func (c *comparison) compareObjects() {
	for _, list := range []struct {
		field, what string
		parts       []map[string]any
		among       []*unstructured.Unstructured
	}{
		{"children", "child", c.want.Children, c.controlled},
		{"attachments", "attachment", c.want.Attachments, c.controlled},
		{"outputs", "output", c.want.Outputs, c.controlled},
		{"objects", "object", c.want.Objects, c.all},
	} {
		for i, part := range list.parts {
			c.compareObject(fmt.Sprintf(".want.%s[%d]", list.field, i), list.what, part, list.among)
		}
	}
	for i, part := range c.want.Absent {
		field := fmt.Sprintf(".want.absent[%d]", i)
		kind := unstructured.Unstructured{Object: part}
		if !c.serves(kind.GetAPIVersion(), kind.GetKind()) {
			c.mismatchf(field, "there is no kind %s at all: %s", strings.TrimSpace(kind.GetAPIVersion()+" "+kind.GetKind()), giveKind)
			continue
		}
		for _, object := range c.all {
			if c.ctx.Err() != nil {
				return
			}
			if matches(part, object.Object) {
				c.mismatchf(field, "%s is there, want no such object", nameOfObject(object))
				break
			}
		}
	}
}

// identity are the fields of a part that say which object it is about.
func identity(part map[string]any) map[string]any {
	fields := map[string]any{"kind": part["kind"]}
	if part["apiVersion"] != nil {
		fields["apiVersion"] = part["apiVersion"]
	}
	metadata := map[string]any{}
	for _, name := range []string{"name", "namespace"} {
		if value := jsonvalue.ObjectIn(part, "metadata")[name]; value != nil {
			metadata[name] = value
		}
	}
	if len(metadata) > 0 {
		fields["metadata"] = metadata
	}
	return fields
}

// compareObject compares a part with the objects that it may be about. If none matches, the nearest one is shown.
func (c *comparison) compareObject(field, what string, part map[string]any, among []*unstructured.Unstructured) {
	kind, named, about := part["kind"], identity(part), unstructured.Unstructured{Object: part}
	var best, other *unstructured.Unstructured
	var least []difference
	var names []string
	for _, object := range among {
		if c.ctx.Err() != nil {
			return
		}
		if object.GetKind() != kind {
			continue
		}
		names = append(names, string(nameOfObject(object)))
		all := differences("", part, object.Object)
		switch {
		case len(all) == 0:
			return
		case !matches(named, object.Object):
			if other == nil || len(all) < len(differences("", part, other.Object)) {
				other = object
			}
		case best == nil || len(all) < len(least):
			best, least = object, all
		}
	}
	switch {
	case best != nil:
		message := fmt.Sprintf("%s: %s", nameOfObject(best), least[0])
		if n := len(least) - 1; n > 0 {
			message += fmt.Sprintf(" (and %d more)", n)
		}
		c.fail(Failure{Location: c.place(field + least[0].below()), Message: message, Diff: diffLines(part, best.Object)})
	case other != nil:
		shown := strings.Join(names[:min(len(names), maxNames)], ", ")
		message := fmt.Sprintf("there is no %s %s: of this kind there are %s", what, partName(part), shown)
		if n := len(names) - maxNames; n > 0 {
			message += fmt.Sprintf(" and %d more", n)
		}
		c.fail(Failure{Location: c.place(field), Message: message, Diff: diffLines(part, other.Object)})
	case !c.serves(about.GetAPIVersion(), about.GetKind()):
		c.mismatchf(field, "there is no kind %s at all: %s", strings.TrimSpace(about.GetAPIVersion()+" "+about.GetKind()), giveKind)
	default:
		c.mismatchf(field, "there is no %s %s, and none of its kind", what, partName(part))
	}
}

// maxNames is how many names are listed in a sentence.
const maxNames = 10

// partName returns the name of an object that a part is about.
func partName(part map[string]any) string {
	object := unstructured.Unstructured{Object: part}
	if object.GetName() == "" {
		return object.GetKind()
	}
	return string(nameOf(object.GetKind(), object.GetNamespace(), object.GetName()))
}

func (c *comparison) compareCounts() {
	for _, kind := range slices.Sorted(maps.Keys(c.want.Counts)) {
		if c.ctx.Err() != nil {
			return
		}
		want, _ := jsonvalue.Integer(c.want.Counts[kind])
		field := ".want" + join(".counts", kind)
		if !c.serves("", kind) {
			c.mismatchf(field, "there is no kind %s at all: %s", kind, giveKind)
			continue
		}
		var names []string
		for _, object := range c.controlled {
			if object.GetKind() == kind {
				names = append(names, object.GetName())
			}
		}
		if int64(len(names)) != want {
			message := fmt.Sprintf("counts.%s is %d, want %d", kind, len(names), want)
			if len(names) > 0 {
				message += ": " + strings.Join(names[:min(len(names), maxNames)], ", ")
			}
			c.mismatchf(field, "%s", message)
		}
	}
}

// giveKind is what can be done about a kind that the cluster does not serve, and of which there are never any objects.
const giveKind = "correct the name, or give its CustomResourceDefinition beside the definition"

// serves reports whether the cluster has a kind. Without an apiVersion any will do.
func (r *runner) serves(apiVersion, kind string) bool {
	return slices.ContainsFunc(r.stage.Resources, func(resource memcluster.Resource) bool {
		return resource.Kind.Kind == kind && (apiVersion == "" || resource.Kind.GroupVersion().String() == apiVersion)
	})
}

func (c *comparison) compareLogs() {
	for i, want := range c.want.Logs {
		if c.ctx.Err() != nil {
			return
		}
		pattern := regexp.MustCompile(want)
		var lines []string
		for _, pass := range c.passes {
			for _, call := range pass.Calls {
				lines = append(lines, call.Logs...)
			}
		}
		if !slices.ContainsFunc(lines, pattern.MatchString) {
			c.mismatchf(fmt.Sprintf(".want.logs[%d]", i), "no line that a hook logged matches %s: they logged %s", want, quotedList(lines))
		}
	}
}

// quotedList returns lines as a part of a sentence.
func quotedList(lines []string) string {
	if len(lines) == 0 {
		return "none"
	}
	var quoted []string
	for _, line := range lines[:min(len(lines), maxNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", line))
	}
	return strings.Join(quoted, ", ")
}

// shortName returns a name without the namespace of objects that have none in the file.
func (r *runner) shortName(name ObjectName) ObjectName {
	kind, namespace, local := name.split()
	if namespace == r.namespace() {
		namespace = ""
	}
	return nameOf(kind, namespace, local)
}

// compareEvents compares the events that were emitted in the step.
func (c *comparison) compareEvents() {
	var emitted []simulation.Event
	var seen []string
	for _, pass := range c.passes {
		emitted = append(emitted, pass.Events...)
	}
	for _, e := range emitted {
		seen = append(seen, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	for i, want := range c.want.Events {
		if c.ctx.Err() == nil && want.among(emitted) < 0 {
			c.mismatchf(fmt.Sprintf(".want.events[%d]", i), "there is no such event: there are %s", quotedList(seen))
		}
	}
	for i, unwanted := range c.want.AbsentEvents {
		if at := unwanted.among(emitted); c.ctx.Err() == nil && at >= 0 {
			c.mismatchf(fmt.Sprintf(".want.absentEvents[%d]", i), "there is the event %q, want no such event", seen[at])
		}
	}
}

// among returns the index of the first event that matches, or -1.
func (w Event) among(events []simulation.Event) int {
	message := regexp.MustCompile(w.Message)
	for i, e := range events {
		is := (w.Type == "" || w.Type == e.Type) && (w.Reason == "" || w.Reason == e.Reason)
		if is && message.MatchString(e.Message) {
			return i
		}
	}
	return -1
}
