package parent

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

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
func (p *pass) reportUnknownFields(outcome apply.Outcome) {
	kind := outcome.Change.Key.Kind
	var lost []string
	meant := ""
	for _, path := range p.unknownFields(outcome) {
		if !p.droppedFields.IsFirst(p.programs.Revision, controller.Signature(kind.String()+" "+path)) {
			continue
		}
		lost = append(lost, fielddiff.PublicPath(kind, path))
		meant = cmp.Or(meant, apply.MeantField(outcome.Change.Schema, path))
	}
	if len(lost) == 0 {
		return
	}
	p.warnOfScripts(variant.ReasonFieldsNotStored, fmt.Sprintf(
		"the API server does not know and drops %s of %s, which the hook returns: %s",
		strings.Join(lost, ", "), outcome.Change.Key, p.fieldRemedy(kind, meant)))
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
func (p *pass) withFieldRemedy(outcome apply.Outcome) error {
	path := outcome.RefusedField()
	if path == "" {
		return outcome.Err
	}
	return fmt.Errorf("%w: %s", outcome.Err, p.fieldRemedy(outcome.Change.Key.Kind, apply.MeantField(outcome.Change.Schema, path)))
}

// unknownFields returns the paths of the fields that the API server has dropped: of what was sent, by its warnings, and by its schema of
// what an update has left out, as it would be dropped.
func (p *pass) unknownFields(outcome apply.Outcome) []string {
	change := outcome.Change
	if change.Action != apply.ActionUpdate || change.ServerSide != nil {
		return outcome.Unknown
	}
	paths := outcome.Unknown
	if desired := p.desiredChild(change.Key); desired != nil && change.Schema != nil {
		paths = append(paths, change.Schema.Dropped(desired.Object)...)
	}
	return paths
}
