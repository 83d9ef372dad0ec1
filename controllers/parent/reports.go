package parent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// reportUnownedOutputs emits one event about the unowned outputs. A desired one is left out, as its failed creation is reported anyway.
// The outputs are not changed.
func (p *pass) reportUnownedOutputs(desired variant.Desired) {
	unowned := slices.DeleteFunc(slices.Clone(p.unownedOutputs), func(child apply.Key) bool {
		return slices.ContainsFunc(desired.Children, func(wanted *unstructured.Unstructured) bool { return apply.KeyOf(wanted) == child })
	})
	if len(unowned) == 0 {
		return
	}
	others := ""
	if len(unowned) > 1 {
		others = fmt.Sprintf(" (as are %d more)", len(unowned)-1)
	}
	p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonMarkMissing, Message: fmt.Sprintf(
		"%s: %s is an output of the parent%s, but has no annotation %s any more, so that nothing tells which definition made it: "+
			"it is neither updated nor deleted: put the annotation back with the definition's name, or delete the object",
		variant.ReasonMarkMissing, unowned[0], others, v1alpha1.MapAnnotation)})
}

// reportOutdated reports the children that OnDelete leaves alone, by the changes that were held back.
func (p *pass) reportOutdated(held []apply.Change) {
	var aim uint64
	keys := make([]apply.Key, len(held))
	for i, change := range held {
		keys[i], aim = change.Key, p.commonInputs()[loops.SpecInput]
	}
	changed, isNew := p.outdated.Set(p.key, p.parent.GetUID(), aim, keys)
	if changed {
		p.config.Changed()
	}
	if isNew && p.mayEmit(variant.ReasonOutdatedChildren, p.problems.Warnings) {
		p.env.Events.Rare.Event(p.parent, corev1.EventTypeNormal, variant.ReasonOutdatedChildren, notices.DescribeOutdated(held))
		p.outdated.NoteReported(p.key)
	}
}

// reportWarnings emits an event for each warning of the variant that is new.
func (p *pass) reportWarnings(warnings []variant.Warning) {
	for _, warning := range warnings {
		p.warn(p.key, p.parent, notices.Problem{Reason: warning.Reason, Message: warning.Message})
	}
}

// reportShared reports a written child that another definition of the process claims too.
func (p *pass) reportShared(change apply.Change) {
	if p.isRevision(change) {
		return
	}
	for _, other := range p.env.Registry.DefinitionsClaiming(p.config.Definition, p.observed.Parent, change.Object) {
		if p.sharedChildren.Note(other, notices.SharedChild{Parent: p.observed.Parent, Child: change.Object}) {
			p.config.Changed()
		}
		message := describeShared(p.config.Definition, other, "this object", change.Key)
		p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonSharedChildren, Message: message})
	}
}

// describeShared returns the message about a child that two definitions claim.
func describeShared(own, other, parent string, child apply.Key) string {
	return fmt.Sprintf("%s and %s both claim %s for a child of %s: each deletes or changes what the other has written: %s",
		own, other, child, parent, separateKinds)
}

// SharedChildren returns a message for each other definition of the process that claims children of this one, sorted.
func (r *Reconciler) SharedChildren() (messages []string) {
	shared := r.sharedChildren.Retain(func(other string, s notices.SharedChild) bool {
		return slices.Contains(r.env.Registry.DefinitionsClaiming(r.config.Definition, s.Parent, s.Child), other)
	})
	for _, other := range slices.Sorted(maps.Keys(shared)) {
		s := shared[other]
		messages = append(messages, describeShared(r.config.Definition, other, apply.KeyOf(s.Parent).String(), apply.KeyOf(s.Child)))
	}
	return messages
}

// ObservedGenerationField is a field of a status. It is added by this program and may be missing in a schema.
const ObservedGenerationField = "observedGeneration"

// reportDroppedFields reports the fields of the last written status that the API server dropped.
func (p *pass) reportDroppedFields(sent map[string]any) {
	sent, _ = jsonvalue.Without(sent, ObservedGenerationField)
	lost := notices.LostFields(nil, "status", sent, jsonvalue.ObjectIn(p.parent.Object, "status"), p.source.Custom)
	if len(lost) == 0 {
		return
	}
	remedy := "name them in the schema of the CustomResourceDefinition"
	if !p.source.Custom {
		remedy = "the kind has no such fields, let the hook leave them out"
	}
	message := fmt.Sprintf("the API server does not store %s of %s: %s", strings.Join(lost, ", "), p.source.GroupResource(), remedy)
	if p.droppedFields.IsFirst(p.programs.Revision, message) {
		p.warnOfScripts(variant.ReasonStatusNotStored, message)
	}
}

// reportUnknownFields reports the fields of a written child that the API server dropped. They are the same for all children
// of a kind.
func (p *pass) reportUnknownFields(result apply.Result) {
	kind := result.Change.Key.Kind
	var lost []string
	meant := ""
	for _, path := range p.unknownFields(result) {
		if !p.droppedFields.IsFirst(p.programs.Revision, controller.Signature(kind.String()+" "+path)) {
			continue
		}
		lost = append(lost, fielddiff.PublicPath(kind, path))
		meant = cmp.Or(meant, apply.MeantField(result.Change.Schema, path))
	}
	if len(lost) == 0 {
		return
	}
	p.warnOfScripts(variant.ReasonFieldsNotStored, fmt.Sprintf(
		"the API server does not know and drops %s of %s, which the hook returns: %s",
		strings.Join(lost, ", "), result.Change.Key, p.fieldRemedy(kind, meant)))
}

// fieldRemedy returns what to do about a field that a kind of children does not have. meant is that of apply.MeantField.
func (p *pass) fieldRemedy(kind schema.GroupVersionKind, meant string) string {
	remedy := "correct the name in the hook, or leave the field out"
	if source := p.sources.ChildrenOf(kind); source != nil && source.Custom {
		remedy += ", or name it in the schema of the CustomResourceDefinition"
	}
	return strings.TrimSpace(meant + " " + remedy)
}

// withFieldRemedy returns the error of a write, with what to do if it has a field that the kind does not have.
func (p *pass) withFieldRemedy(result apply.Result) error {
	path := result.RefusedField()
	if path == "" {
		return result.Err
	}
	return fmt.Errorf("%w: %s", result.Err, p.fieldRemedy(result.Change.Key.Kind, apply.MeantField(result.Change.Schema, path)))
}

// unknownFields returns the paths of the fields that the API server has dropped: of what was sent, by its warnings, and by its schema of
// what an update has left out, as it would be dropped.
func (p *pass) unknownFields(result apply.Result) []string {
	change := result.Change
	if change.Action != apply.ActionUpdate || change.ServerSide != nil {
		return result.Unknown
	}
	paths := result.Unknown
	if desired := p.desiredChild(change.Key); desired != nil && change.Schema != nil {
		paths = append(paths, change.Schema.Dropped(desired.Object)...)
	}
	return paths
}
