package composite

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// isValidRevision reports whether the name of a stored revision is that of its content. If not, the
// revision was edited or forged.
func (v *Variant) isValidRevision(p *unstructured.Unstructured, r *revision) bool {
	if r.patch == nil || r.scripts != "" && !isScriptRevision.MatchString(r.scripts) {
		return false
	}
	names, err := v.revisionNames(p, r.patch, r.scripts)
	return err == nil && names.has(r.name)
}

// overwrite makes the update revision, which is new, take the place of an invalid one of its name: that
// one is written again with the content that its name stands for, and without the children that it
// lists now.
func (h *history) overwrite() {
	at := slices.IndexFunc(h.invalid, func(r *revision) bool { return r.name == h.updateRevision.name })
	if at < 0 {
		return
	}
	h.updateRevision.stored, h.updateRevision.overwritten = h.invalid[at].stored, true
	h.invalid = slices.Delete(h.invalid, at, at+1)
}

// warnings returns the events about stored revisions that are invalid, or have fields that are not used.
func (v *Variant) warnings(h *history) []variant.Warning {
	var warnings []variant.Warning
	add := func(format string, args ...any) {
		warnings = append(warnings, variant.Warning{Reason: variant.ReasonRevisionInvalid, Message: fmt.Sprintf(format, args...)})
	}
	if h.updateRevision.overwritten {
		add("ControllerRevision %s was edited: its %s was not the one that its name stands for; it is written again, "+
			"and children that need an update wait for their turn", h.updateRevision.name, v.namedContent())
	}
	if len(h.invalid) > 0 {
		add("ControllerRevision %s was edited or forged: its name is not that of its %s; it is not used, "+
			"and the children that it lists stay as they are until it is their turn: delete it",
			listOf(h.invalid, func(r *revision) string { return r.name }), v.namedContent())
	}
	for _, r := range h.live()[1:] {
		if outside := fieldsOutside(r.patch, v.paths); len(outside) > 0 {
			add("ControllerRevision %s also has %s, which is not in the definition's revisionHistory.fieldPaths: its children are made "+
				"from the parent's present value", r.name, listOf(outside, func(path string) string { return path }))
			break // One event is enough: the paths have changed.
		}
	}
	return append(warnings, h.unusableWarnings()...)
}

// fieldsOutside returns the paths of the fields of a patch that are not at paths or below them,
// sorted.
func fieldsOutside(patch map[string]any, paths [][]string) []string {
	var outside []string
	for _, field := range variant.SortedKeys(patch) {
		var below [][]string
		covered := false
		for _, path := range paths {
			if path[0] == field {
				below = append(below, path[1:])
				covered = covered || len(path) == 1
			}
		}
		inner, isObject := patch[field].(map[string]any)
		switch {
		case covered, patch[field] == nil:
		case len(below) > 0 && isObject:
			for _, path := range fieldsOutside(inner, below) {
				outside = append(outside, field+"."+path)
			}
		default:
			outside = append(outside, field)
		}
	}
	return outside
}
