package explore

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// difference is what differs between the end state that is wanted and the one of a path.
type difference struct {
	// lines are for people: - for what is wanted, + for what is there.
	lines []string
	// want is what a case says to fail on the path.
	want controllertest.Want
}

// maxLines is how many lines of a difference are shown.
const maxLines = 40

// differ compares two end states.
func differ(want, got endState) difference {
	var d difference
	for _, key := range want.keys() {
		if there, ok := got[key]; !ok {
			d.lines = append(d.lines, "- "+described(key, want[key]))
			d.want.Objects = append(d.want.Objects, identity(key))
		} else {
			d.object(key, want[key], there)
		}
	}
	for _, key := range got.keys() {
		if _, ok := want[key]; !ok {
			d.lines = append(d.lines, "+ "+described(key, got[key]))
			d.want.Absent = append(d.want.Absent, identity(key))
		}
	}
	if more := len(d.lines) - maxLines; more > 0 {
		d.lines = append(d.lines[:maxLines], fmt.Sprintf("  and %d lines more", more))
	}
	return d
}

// object compares two objects.
func (d *difference) object(key apply.Key, want, got map[string]any) {
	part, differs := identity(key), false
	secret := jsonvalue.IsSecret(want)
	byPosition := func([]any, []any) ([]jsonvalue.Pair, bool) { return nil, false }
	compare := jsonvalue.Differ{Match: byPosition, Found: func(path jsonvalue.Path, a, b any) {
		differs = true
		place := nameOf(key) + " " + path.String()
		if secret {
			d.lines = append(d.lines, "- "+place+": (of a Secret)")
			return
		}
		if a != nil {
			d.lines = append(d.lines, "- "+place+": "+short(a))
		}
		if b != nil {
			d.lines = append(d.lines, "+ "+place+": "+short(b))
		}
		setPart(part, want, path)
	}}
	compare.Compare(want, got)
	if differs {
		d.want.Objects = append(d.want.Objects, part)
	}
}

// setPart copies the field at a path from an object into a part of it. Of lists the whole is copied.
func setPart(part, from map[string]any, path jsonvalue.Path) {
	for i, step := range path {
		value, has := from[step.Name]
		last := i == len(path)-1 || path[i+1].Item
		fields, isObject := value.(map[string]any)
		if last || !isObject || !has {
			part[step.Name] = runtime.DeepCopyJSONValue(value)
			return
		}
		inner, _ := part[step.Name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			part[step.Name] = inner
		}
		part, from = inner, fields
	}
}

// identity returns what names an object in a case.
func identity(key apply.Key) map[string]any {
	metadata := map[string]any{"name": key.Name}
	if key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	return map[string]any{"apiVersion": key.Kind.GroupVersion().String(), "kind": key.Kind.Kind, "metadata": metadata}
}

// nameOf returns the name of an object in cases.
func nameOf(key apply.Key) string {
	parts := []string{key.Kind.Kind, key.Namespace, key.Name}
	if key.Namespace == "" {
		parts = []string{key.Kind.Kind, key.Name}
	}
	return strings.Join(parts, "/")
}

// described returns an object with its name. Secrets have nothing else.
func described(key apply.Key, object map[string]any) string {
	if jsonvalue.IsSecret(object) {
		return nameOf(key)
	}
	return nameOf(key) + ": " + short(object)
}

// short returns a value as JSON, cut.
func short(value any) string {
	const most = 200
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}
