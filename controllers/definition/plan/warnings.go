package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Warning is what a user should know about a definition that is accepted. It contains no times, so that it changes only with its cause.
type Warning struct {
	// Reason is that of the event, and of the condition Ready, which stays True unless no parent is selected any more.
	Reason, Message string
}

// Reasons of warnings.
const (
	ReasonChildResourceRemoved  = "ChildResourceRemoved"
	ReasonParentResourceRemoved = "ParentResourceRemoved"
	ReasonParentsNotSelected    = "ParentsNotSelected"
	ReasonNoStatusSubresource   = "NoStatusSubresource"
	ReasonNoStatusChecks        = "NoStatusChecks"
	ReasonNoScriptRollout       = "NoScriptRollout"
	ReasonRelatedNotDeclared    = "RelatedResourcesNotDeclared"
	ReasonRelatedNotServed      = "RelatedResourceNotServed"
	ReasonInvalidLogLevel       = "InvalidLogLevel"
)

// MaxNamed is the number of objects that a warning names.
const MaxNamed = 3

// Warnings returns what a user should know about the spec, its resources and the annotations, as the host reports it.
func (p *Plan) Warnings() []Warning { return slices.Concat(p.SpecWarnings(), p.annotations) }

// SpecWarnings returns those about the spec and its resources.
func (p *Plan) SpecWarnings() []Warning {
	var all []Warning
	if text := p.missingStatusSubresource(); text != "" {
		all = append(all, Warning{Reason: ReasonNoStatusSubresource, Message: text})
	}
	if p.rollsNoScripts {
		all = append(all, Warning{Reason: ReasonNoScriptRollout, Message: "parentResource.revisionHistory.scriptChanges: Rolling " +
			"has no effect: " +
			"it needs a sync hook that a script serves, and a kind of children with a rolling method: an edit reaches all children at once"})
	}
	for _, rule := range p.unchecked {
		all = append(all, Warning{Reason: ReasonNoStatusChecks, Message: fmt.Sprintf(
			"childResources: a rolling update of %s goes on to the next child whether or not the last one is healthy: "+
				"give updateStrategy.statusChecks the conditions that a healthy one has", rule.GroupResource())})
	}
	return all
}

// missingStatusSubresource returns a warning about a parent resource without status
// subresource, in metacontroller's words (section 3.2 of the specification), or "".
// Decorators need no status.
func (p *Plan) missingStatusSubresource() string {
	if p.Kind == v1alpha1.DecoratorControllerKind || p.writesNoStatus {
		return ""
	}
	for _, rule := range p.Config.Parents {
		if !rule.HasStatus {
			return fmt.Sprintf("parent resource %s does not have subresource 'Status' enabled: children are managed, and no status is written",
				rule.GroupResource())
		}
	}
	return ""
}

// RelatedWarnings returns those about what the customize hook may ask for and parents name: everything, or
// resources that are not served at present.
func (p Planner) RelatedWarnings(plan *Plan) []Warning {
	customize := plan.Config.Customize
	switch {
	case customize == nil:
		return nil
	case customize.Limits.Declared != nil:
		return p.missingRelated(plan.Settings.RelatedResources)
	case customize.Limits.RefuseSecrets:
		return nil
	}
	return []Warning{{Reason: ReasonRelatedNotDeclared, Message: "the customize webhook may ask for all objects of the cluster, " +
		"Secrets included, " +
		"as nothing says what it needs: list that in relatedResources"}}
}

// missingRelated returns the warning about declared resources that are not served, which may be
// misspelled.
func (p Planner) missingRelated(declared []v1alpha1.RelatedResourceRule) []Warning {
	var unserved []string
	for i, rule := range declared {
		_, err := p.Find(rule.APIVersion, rule.Resource)
		if missing := (*discovery.NotFoundError)(nil); errors.As(err, &missing) {
			unserved = append(unserved, fmt.Sprintf("relatedResources[%d]: %v", i, err))
		}
	}
	if len(unserved) == 0 {
		return nil
	}
	if more := len(unserved) - MaxNamed; more > 0 {
		unserved = append(unserved[:MaxNamed], fmt.Sprintf("relatedResources: and %d more that are not served", more))
	}
	return []Warning{{Reason: ReasonRelatedNotServed, Message: strings.Join(unserved, "\n")}}
}

// Messages returns the messages of warnings, one per line.
func Messages(warnings []Warning) string {
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.Message)
	}
	return strings.Join(lines, "\n")
}
