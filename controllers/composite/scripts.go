package composite

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// With scriptChanges: Rolling the scripts are a part of a revision, beside the state of the parent. A ControllerRevision names
// them in an annotation. One that does not is of whichever scripts serve: all are if the setting is Immediate, and those of
// metacontroller and from before the setting came.
//
// Nothing moves at once when the setting comes or goes, even together with an edit of the scripts: the present state is another
// revision then, to which children belong that it would leave unchanged, and the others wait for their turn.

// isScriptRevision matches the ID of a revision of the scripts.
var isScriptRevision = regexp.MustCompile("^[0-9a-f]{64}$")

// presentScripts returns the scripts of the update revision.
func (v *Variant) presentScripts(observed variant.Observed) string {
	if !v.rollsScripts {
		return ""
	}
	return observed.ScriptRevision
}

// isPresentScripts reports whether a revision is of the scripts of the update revision. If the present ones are not known by an ID,
// as in offline commands, there are no others.
func (v *Variant) isPresentScripts(r *revision, observed variant.Observed) bool {
	return observed.ScriptRevision == "" && v.rollsScripts || r.scripts == v.presentScripts(observed)
}

// hasOtherScripts reports whether the children of a revision were made by other scripts than those that serve.
func (r *revision) hasOtherScripts(observed variant.Observed) bool {
	return r.scripts != "" && observed.ScriptRevision != "" && r.scripts != observed.ScriptRevision
}

// keepUnknown leaves the children of revisions as they are of which it is not known which scripts made them: those that serve now may
// not be the ones. A missing child is created as these want it.
func (v *Variant) keepUnknown(children []*rollingChild, observed variant.Observed) {
	if !v.rollsScripts || observed.ScriptRevision == "" {
		return
	}
	for _, c := range children {
		if c.revision != nil && c.revision.scripts == "" && c.observed != nil && !c.isCurrent {
			c.currentVersion = nil
		}
	}
}

// retryUnusable is how many seconds later scripts that could not be called are tried again.
const retryUnusable = 60

// setUnusable notes that the scripts of an old revision fail or wait. Its children stay as they are until it is their turn.
func (h *history) setUnusable(desired *variant.Desired, r *revision, waiting *variant.Wait, err error) {
	if err == nil {
		err = fmt.Errorf("their answer waits: %s", waiting)
	}
	if h.unusable == nil {
		h.unusable = map[*revision]error{}
	}
	h.unusable[r] = err
	desired.ResyncAfterSeconds = variant.Earlier(desired.ResyncAfterSeconds, retryUnusable)
	desired.TimeDependent = true
}

// unusableWarnings returns an event for the newest revision whose scripts can't be called.
func (h *history) unusableWarnings() []variant.Warning {
	for _, r := range h.oldRevisions {
		if err := h.unusable[r]; err != nil {
			return []variant.Warning{{Reason: variant.ReasonScriptRevisionUnusable, Message: fmt.Sprintf(
				"ControllerRevision %s: its children were made by revision %.16s of the scripts, which can't be used: %v; they stay as they are until "+
					"it is their turn: let the rollout go on, or write that text again", r.name, r.scripts, err)}}
		}
	}
	return nil
}

// isRepeated reports whether a revision without children has a state of the parent that the history has already, made by other
// scripts: an edit of the scripts must not push earlier states of the parent out of it.
func (r *rollingUpdate) isRepeated(rev *revision, unused []*revision) bool {
	return rev.scripts != "" && slices.ContainsFunc(append(unused, r.updateRevision), func(kept *revision) bool {
		return jsonvalue.Equal(kept.patch, rev.patch)
	})
}

// withScripts returns a ControllerRevision with the annotation for the scripts, or without it if they are empty.
func withScripts(object *unstructured.Unstructured, scripts string) *unstructured.Unstructured {
	if scripts != "" {
		return variant.WithMarks(object, nil, map[string]any{v1alpha1.ScriptRevisionAnnotation: scripts})
	}
	annotations := object.GetAnnotations()
	if _, found := annotations[v1alpha1.ScriptRevisionAnnotation]; !found {
		return object
	}
	object = variant.WithMetadata(object)
	delete(annotations, v1alpha1.ScriptRevisionAnnotation)
	object.SetAnnotations(annotations)
	return object
}

// namedContent returns what the name of a ControllerRevision stands for.
func (v *Variant) namedContent() string {
	if v.rollsScripts {
		return "parentPatch with annotation " + v1alpha1.ScriptRevisionAnnotation
	}
	return "parentPatch"
}

// ScriptRevisions returns the IDs of the revisions of the scripts that ControllerRevisions with children name, of those of the definition.
// None of these is checked: a revision that is named by mistake is kept in vain.
func (v *Variant) ScriptRevisions(all []*unstructured.Unstructured) []string {
	named := map[string]bool{}
	for _, stored := range all {
		metadata := jsonvalue.ObjectIn(stored.Object, "metadata")
		scripts, _ := jsonvalue.ObjectIn(metadata, "annotations")[v1alpha1.ScriptRevisionAnnotation].(string)
		label, _ := jsonvalue.ObjectIn(metadata, "labels")[v1alpha1.CompositeLabel].(string)
		if scripts != "" && label == v.label && stored.Object["children"] != nil && isScriptRevision.MatchString(scripts) {
			named[scripts] = true
		}
	}
	return variant.SortedKeys(named)
}
