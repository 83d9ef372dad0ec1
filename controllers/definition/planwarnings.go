package definition

import "slices"

// Warning is what a user should know about a definition that is accepted.
type Warning struct {
	// Reason is that of the event.
	Reason, Message string
}

// Reasons of refusals and of the warnings of a plan.
const (
	ReasonResourceNotFound     = reasonNotFound
	WarningNoStatusSubresource = reasonNoStatusSubresource
	WarningNoStatusChecks      = reasonNoStatusChecks
	WarningNoScriptRollout     = reasonNoScriptRollout
)

// Warnings returns what a user should know about the spec and its resources, as the host reports it.
func (p *Plan) Warnings() []Warning {
	var all []Warning
	for _, w := range slices.Concat(p.warnings(), p.annotations) {
		all = append(all, Warning{Reason: w.reason, Message: w.message})
	}
	return all
}
