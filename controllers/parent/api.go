package parent

import (
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
)

// What callers configure and read of the rooms below this package: they need to know none of them.
type (
	// Customize configures a definition's customize hook.
	Customize = related.Customize
	// RelatedLimits is what a customize hook may ask for.
	RelatedLimits = related.Limits
	// DeclaredRule is an entry of spec.relatedResources.
	DeclaredRule = related.DeclaredRule
	// Selection is what a rule of a customize answer selects.
	Selection = related.Selection
	// EventLimits are those of the process's recorder on the events about one object.
	EventLimits = notices.EventLimits
)
