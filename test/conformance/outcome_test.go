package conformance

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// isRenewal reports whether a requeue is for a webhook's answer that expires, which scripts' answers do not:
// see TestCustomizeIsRenewed.
func (e *env) isRenewal(after time.Duration) bool {
	return e.webhooks && after > 17*time.Minute && after <= 20*time.Minute
}

// passOutcome returns the outcome of a pass.
func (e *env) passOutcome(parent string, result render.Result) fields {
	outcome := fields{{"pass", parent}, {"writes", e.writes(result.Writes)}}
	if result.Parent == nil {
		outcome = append(outcome, field{"gone", true})
	} else if status, ok := result.Parent.Object["status"]; ok {
		outcome = append(outcome, field{"status", status})
	}
	if result.RequeueAfter > 0 && !e.isRenewal(result.RequeueAfter) {
		outcome = append(outcome, field{"requeue", result.RequeueAfter.String()})
	}
	if events := eventsOf(result.Events); len(events) > 0 {
		outcome = append(outcome, field{"events", events})
	}
	switch {
	case errors.Is(result.Err, controller.ErrLater):
		outcome = append(outcome, field{"later", result.Err.Error()})
	case result.Err != nil:
		outcome = append(outcome, field{"error", result.Err.Error()})
	}
	return outcome
}

func eventsOf(events []render.Event) []any {
	var lines []any
	for _, e := range events {
		lines = append(lines, fields{{"event", e.Type + " " + e.Reason}, {"message", e.Message}})
	}
	return lines
}

func (e *env) writes(writes []memcluster.Write) []any {
	lines := []any{}
	for _, w := range writes {
		lines = append(lines, e.write(w))
	}
	return lines
}

// write returns the change that a write made, or the reason why it was refused.
func (e *env) write(w memcluster.Write) fields {
	lines := fields{{string(w.Verb), ref(w.Kind.Kind, w.Namespace, w.Name)}}
	switch {
	case w.Verb == memcluster.Create:
		lines = append(lines, field{"with", e.simplified(w.Sent)})
	case w.Verb == memcluster.Delete:
		lines = append(lines, field{"propagation", string(w.Propagation)})
	case w.Err == nil && w.Before == nil: // A creation by server-side apply.
		lines = append(lines, field{"with", e.simplified(w.After.Object)})
	case w.Err == nil && w.After == nil:
		lines = append(lines, field{"gone", true})
	case w.Err == nil && w.Verb != memcluster.UpdateStatus:
		lines = append(lines, field{"with", mergePatchBetween(e.simplified(w.Before.Object), e.simplified(w.After.Object))})
	}
	if w.Err != nil {
		lines = append(lines, field{"refused", string(apierrors.ReasonForError(w.Err))})
	}
	return lines
}

// serverFields are the metadata that the cluster sets or that the line above has.
var serverFields = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}

// simplified returns an object without the fields that are the same in every case.
func (e *env) simplified(object map[string]any) map[string]any {
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	delete(o.Object, "apiVersion")
	delete(o.Object, "kind")
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, name := range serverFields {
		delete(metadata, name)
	}
	if !e.annotated {
		unstructured.RemoveNestedField(metadata, "annotations", merge.LastApplied)
	}
	if references, ok := metadata["ownerReferences"].([]any); ok {
		metadata["ownerReferences"] = ownerLines(references)
	}
	for _, name := range []string{"annotations", "ownerReferences"} {
		if value := reflect.ValueOf(metadata[name]); value.IsValid() && value.Len() == 0 {
			delete(metadata, name)
		}
	}
	if len(metadata) == 0 {
		delete(o.Object, "metadata")
	}
	return o.Object
}

// ownerLines returns a line for each owner. "controller" controls the object and has blockOwnerDeletion.
func ownerLines(references []any) []any {
	var lines []any
	for _, r := range references {
		reference, _ := r.(map[string]any)
		kind, _ := reference["kind"].(string)
		name, _ := reference["name"].(string)
		uid, _ := reference["uid"].(string)
		if reference["controller"] == true && reference["blockOwnerDeletion"] == true {
			lines = append(lines, strings.Join([]string{"controller", kind, name, uid}, " "))
		} else {
			lines = append(lines, strings.Join([]string{"owner", kind, name, uid}, " "))
		}
	}
	return lines
}

// mergePatchBetween returns the merge patch from one object to another.
func mergePatchBetween(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range after {
		old, had := before[key]
		from, fromObject := old.(map[string]any)
		to, toObject := value.(map[string]any)
		switch {
		case had && reflect.DeepEqual(old, value):
		case fromObject && toObject:
			patch[key] = mergePatchBetween(from, to)
		default:
			patch[key] = value
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			patch[key] = nil
		}
	}
	return patch
}

// applyMergePatch returns target with a merge patch applied.
func applyMergePatch(target, patch map[string]any) map[string]any {
	result := map[string]any{}
	for key, value := range target {
		result[key] = value
	}
	for key, value := range patch {
		to, _ := result[key].(map[string]any)
		if fields, ok := value.(map[string]any); ok {
			result[key] = applyMergePatch(to, fields)
		} else if value == nil {
			delete(result, key)
		} else {
			result[key] = value
		}
	}
	return result
}

// normalized converts integers to int64.
func normalized(value map[string]any) map[string]any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // It was read from YAML.
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(text, &fields); err != nil {
		panic(err)
	}
	return fields
}
