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

// renewal says whether a pass is made for answers of webhooks that expire, of which those
// of scripts know nothing: see TestCustomizeIsRenewed.
func (p *play) renewal(after time.Duration) bool {
	return p.remote && after > 17*time.Minute && after <= 20*time.Minute
}

// told says what came of a pass.
func (p *play) told(parent string, result render.Result) fields {
	outcome := fields{{"pass", parent}, {"writes", p.writes(result.Writes)}}
	if result.Parent == nil {
		outcome = append(outcome, field{"gone", true})
	} else if status, ok := result.Parent.Object["status"]; ok {
		outcome = append(outcome, field{"status", status})
	}
	if result.RequeueAfter > 0 && !p.renewal(result.RequeueAfter) {
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
	var told []any
	for _, e := range events {
		told = append(told, fields{{"event", e.Type + " " + e.Reason}, {"message", e.Message}})
	}
	return told
}

func (p *play) writes(writes []memcluster.Write) []any {
	told := []any{}
	for _, w := range writes {
		told = append(told, p.write(w))
	}
	return told
}

// write says what a write did to the cluster, or what was asked for in vain.
func (p *play) write(w memcluster.Write) fields {
	told := fields{{string(w.Verb), ref(w.Kind.Kind, w.Namespace, w.Name)}}
	switch {
	case w.Verb == memcluster.Create:
		told = append(told, field{"with", p.shown(w.Sent)})
	case w.Verb == memcluster.Delete:
		told = append(told, field{"propagation", string(w.Propagation)})
	case w.Err == nil && w.Before == nil: // A creation by server-side apply.
		told = append(told, field{"with", p.shown(w.After.Object)})
	case w.Err == nil && w.After == nil:
		told = append(told, field{"gone", true})
	case w.Err == nil && w.Verb != memcluster.UpdateStatus:
		told = append(told, field{"with", difference(p.shown(w.Before.Object), p.shown(w.After.Object))})
	}
	if w.Err != nil {
		told = append(told, field{"refused", string(apierrors.ReasonForError(w.Err))})
	}
	return told
}

// counted are what the cluster says of an object, and what the line above says.
var counted = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}

// shown is what of an object is worth reading.
func (p *play) shown(object map[string]any) map[string]any {
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	delete(o.Object, "apiVersion")
	delete(o.Object, "kind")
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, name := range counted {
		delete(metadata, name)
	}
	if !p.annotated {
		unstructured.RemoveNestedField(metadata, "annotations", merge.LastApplied)
	}
	if references, ok := metadata["ownerReferences"].([]any); ok {
		metadata["ownerReferences"] = owners(references)
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

// owners says who owns an object: "controller" is one that controls it and blocks
// its own deletion.
func owners(references []any) []any {
	var told []any
	for _, r := range references {
		reference, _ := r.(map[string]any)
		kind, _ := reference["kind"].(string)
		name, _ := reference["name"].(string)
		uid, _ := reference["uid"].(string)
		if reference["controller"] == true && reference["blockOwnerDeletion"] == true {
			told = append(told, strings.Join([]string{"controller", kind, name, uid}, " "))
		} else {
			told = append(told, strings.Join([]string{"owner", kind, name, uid}, " "))
		}
	}
	return told
}

// difference is the merge patch from one object to another.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range after {
		old, had := before[key]
		from, fromObject := old.(map[string]any)
		to, toObject := value.(map[string]any)
		switch {
		case had && reflect.DeepEqual(old, value):
		case fromObject && toObject:
			patch[key] = difference(from, to)
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

// merged is a merge patch applied.
func merged(target, patch map[string]any) map[string]any {
	result := map[string]any{}
	for key, value := range target {
		result[key] = value
	}
	for key, value := range patch {
		to, _ := result[key].(map[string]any)
		if fields, ok := value.(map[string]any); ok {
			result[key] = merged(to, fields)
		} else if value == nil {
			delete(result, key)
		} else {
			result[key] = value
		}
	}
	return result
}

// normalized reads values anew, with whole numbers as int64.
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
