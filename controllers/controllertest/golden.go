package controllertest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// record notes what happened in a step, for the golden file.
func (s *stepRun) record() {
	if s.testCase.Golden == "" || s.inherits {
		return
	}
	outcome := fields{{"step", len(s.outcomes) + 1}}
	if s.StepName != "" {
		outcome = append(outcome, field{"name", s.StepName})
	}
	if s.enqueued != nil {
		outcome = append(outcome, field{"enqueued", s.enqueued})
	}
	if s.refused != nil {
		outcome = append(outcome, field{"refused", s.refused.Error()})
	}
	var passes []any
	for _, pass := range s.passes {
		passes = append(passes, s.passFields(pass))
	}
	if len(passes) > 0 {
		outcome = append(outcome, field{"passes", passes})
	}
	s.outcomes = append(s.outcomes, outcome)
}

// passFields returns what a golden file says of a pass.
func (r *runner) passFields(pass passRun) fields {
	writes := []any{}
	for _, w := range pass.Writes {
		writes = append(writes, r.writeFields(w))
	}
	outcome := fields{{"pass", string(pass.parent.name())}, {"writes", writes}}
	if pass.Parent == nil {
		outcome = append(outcome, field{"gone", true})
	} else if status, ok := pass.Parent.Object["status"]; ok {
		outcome = append(outcome, field{"status", status})
	}
	if pass.RequeueAfter > 0 && !r.isRenewal(pass.RequeueAfter) {
		outcome = append(outcome, field{"requeue", pass.RequeueAfter.String()})
	}
	if events := eventFields(pass.Events); len(events) > 0 {
		outcome = append(outcome, field{"events", events})
	}
	switch {
	case errors.Is(pass.Err, controller.ErrLater):
		outcome = append(outcome, field{"later", pass.Err.Error()})
	case pass.Err != nil:
		outcome = append(outcome, field{"error", pass.Err.Error()})
	}
	return outcome
}

// isRenewal reports whether a pass is due because the answer of a webhook expires. Scripts' answers do not.
func (r *runner) isRenewal(after time.Duration) bool {
	serves := func(named v1alpha1.NamedHook) bool { return named.Hook.Serving() == v1alpha1.WebhookBackend }
	return after > 17*time.Minute && after <= 20*time.Minute && slices.ContainsFunc(r.base.Plan.Hooks, serves)
}

func eventFields(events []simulation.Event) []any {
	var lines []any
	for _, e := range events {
		lines = append(lines, fields{{"event", e.Type + " " + e.Reason}, {"message", e.Message}})
	}
	return lines
}

// writeFields returns the change that a write made, or the reason why it was refused.
func (r *runner) writeFields(w memcluster.Write) fields {
	lines := fields{{string(w.Verb), string(nameOf(w.Kind.Kind, w.Namespace, w.Name))}}
	switch {
	case w.Verb == memcluster.Create:
		lines = append(lines, field{"with", r.simplified(w.Sent)})
	case w.Verb == memcluster.Delete:
		lines = append(lines, field{"propagation", string(w.Propagation)})
	case w.Err == nil && w.Before == nil: // A creation by server-side apply.
		lines = append(lines, field{"with", r.simplified(w.After.Object)})
	case w.Err == nil && w.After == nil:
		lines = append(lines, field{"gone", true})
	case w.Err == nil && w.Verb != memcluster.UpdateStatus:
		lines = append(lines, field{"with", r.changes(w.Before.Object, w.After.Object)})
	}
	if w.Err != nil {
		lines = append(lines, field{"refused", string(apierrors.ReasonForError(w.Err))})
	}
	return lines
}

// serverFields are the metadata that the cluster sets or that the line above has.
var serverFields = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}

// simplified returns an object without the fields that are the same in every case, and without secrets.
func (r *runner) simplified(object map[string]any) map[string]any {
	object, _ = stage.HideSecrets(object, r.schemaOf).(map[string]any)
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	delete(o.Object, "apiVersion")
	delete(o.Object, "kind")
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, name := range serverFields {
		delete(metadata, name)
	}
	unstructured.RemoveNestedField(metadata, "annotations", merge.LastApplied)
	if references, ok := metadata["ownerReferences"].([]any); ok {
		metadata["ownerReferences"] = ownerLines(references)
	}
	for _, name := range []string{"annotations", "ownerReferences"} {
		if _, has := metadata[name]; has && !isCollection(metadata[name]) {
			delete(metadata, name)
		}
	}
	if len(metadata) == 0 {
		delete(o.Object, "metadata")
	}
	return o.Object
}

// changes returns the merge patch of an update. A secret that has changed is (hidden) in it: of its value there is nothing, no hash
// either, as many secrets could be guessed from one.
func (r *runner) changes(before, after map[string]any) map[string]any {
	patch := mergePatchBetween(r.simplified(before), r.simplified(after))
	changed := withoutNull(mergePatchBetween(before, after))
	changed["apiVersion"], changed["kind"] = after["apiVersion"], after["kind"]
	if _, has := changed["metadata"]; !has {
		changed["metadata"] = map[string]any{}
	}
	addHidden(patch, r.simplified(changed))
	return patch
}

// withoutNull returns a merge patch without the fields that it removes.
func withoutNull(patch map[string]any) map[string]any {
	next := map[string]any{}
	for name, value := range patch {
		if fields, is := value.(map[string]any); is {
			value = withoutNull(fields)
		}
		if value != nil {
			next[name] = value
		}
	}
	return next
}

// addHidden adds to a patch what is hidden in another one.
func addHidden(patch, other map[string]any) {
	for name, value := range other {
		if value == jsonvalue.Hidden {
			patch[name] = value
		}
		fields, is := value.(map[string]any)
		if !is {
			continue
		}
		below, had := patch[name].(map[string]any)
		if !had {
			below = map[string]any{}
		}
		if addHidden(below, fields); len(below) > 0 {
			patch[name] = below
		}
	}
}

// ownerLines returns a line for each owner. "controller" controls the object and has blockOwnerDeletion.
func ownerLines(references []any) []any {
	var lines []any
	for _, r := range references {
		reference := jsonvalue.AsObject(r)
		role := "owner"
		if reference["controller"] == true && reference["blockOwnerDeletion"] == true {
			role = "controller"
		}
		lines = append(lines, fmt.Sprintf("%s %v %v %v", role, reference["kind"], reference["name"], reference["uid"]))
	}
	return lines
}

// mergePatchBetween returns the merge patch from one object to another.
func mergePatchBetween(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range after {
		old, had := before[name]
		from, fromObject := old.(map[string]any)
		to, toObject := value.(map[string]any)
		switch {
		case had && jsonvalue.Equal(old, value):
		case fromObject && toObject:
			patch[name] = mergePatchBetween(from, to)
		default:
			patch[name] = value
		}
	}
	for name := range before {
		if _, has := after[name]; !has {
			patch[name] = nil
		}
	}
	return patch
}

// compareGolden compares what happened with the golden file, or writes it.
func (r *runner) compareGolden() error {
	r.at = place{}
	return r.compareFile(".golden", r.testCase.Golden, "what happens", func(want any) string {
		parts, _ := want.([]any)
		return formatOutcomes(keepParts(r.outcomes, parts))
	})
}

// compareSnapshot compares the parents' status and what they control with a file, or writes it.
func (c *comparison) compareSnapshot() error {
	if c.want.Snapshot == "" {
		return nil
	}
	all := []any{}
	for _, object := range c.all {
		kept := c.simplified(object.Object)
		switch {
		case slices.ContainsFunc(c.parents, func(p *parentState) bool { return object.GetUID() == p.uid }):
			kept = map[string]any{"status": withObject(kept["status"])}
		case slices.Contains(c.controlled, object):
			delete(kept, "status") // It is that of other controllers.
		default:
			continue
		}
		metadata := maps.Clone(jsonvalue.ObjectIn(kept, "metadata"))
		delete(metadata, "ownerReferences")
		kept["metadata"] = jsonvalue.MergePatch(metadata, jsonvalue.ObjectIn(identity(object.Object), "metadata"))
		kept["apiVersion"], kept["kind"] = object.GetAPIVersion(), object.GetKind()
		all = append(all, kept)
	}
	return c.compareFile(".want.snapshot", c.want.Snapshot, "what there is", func(any) string { return inlineYAML(all) + "\n" })
}

// compareFile compares a value with that of a file, or writes the file. textOf returns the value as YAML; it is given what the file has.
func (r *runner) compareFile(field, name, what string, textOf func(want any) string) error {
	if name == "" || r.result.Outcome == Errored {
		return nil
	}
	short := field[strings.LastIndex(field, ".")+1:]
	before, err := r.readFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return r.unusable(field, "%s: %w", short, err)
	}
	// What is known to be wrong is not recorded as what is wanted.
	rewrites := r.subject.WriteFile != nil && r.testCase.KnownFailure == ""
	var want any
	if err := yaml.Unmarshal(before, &want); err != nil && !rewrites {
		return r.unusable(field, "%s: %s: %w", short, name, err)
	}
	text := r.masker().Mask(textOf(want))
	if rewrites {
		if string(before) == text {
			return nil
		}
		return r.subject.WriteFile(name, []byte(text))
	}
	if missing {
		remedy := "write it with --update, and read it before you commit it"
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			remedy = "name a file below the folder of the test file, which --update can write"
		}
		r.fail(Failure{Location: r.place(field), Message: name + " does not exist: " + remedy})
		return nil
	}
	var got any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		return fmt.Errorf("%s is no YAML: %w", what, err)
	}
	changes := valueChanges(want, got)
	if len(changes) > 0 {
		first, _, _ := strings.Cut(strings.TrimLeft(changes[0], "-+ "), ":")
		r.fail(Failure{
			Location: r.place(field), Diff: textDiff(string(before), text),
			Message: fmt.Sprintf("%s is not as in %s: %s differs, and %d lines in all", what, name, first, len(changes)),
		})
	}
	return nil
}
