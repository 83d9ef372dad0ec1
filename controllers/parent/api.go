package parent

import (
	"github.com/libretto-k8s/libretto/controllers/parent/health"
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
	// Summary is how the parents of a definition are.
	Summary = health.Summary
	// Report is how one parent is.
	Report = health.Report
	// State is how a parent is.
	State = health.State
	// LastSync is how a parent was synced last.
	LastSync = health.LastSync
	// EventLimits are those of the process's recorder on the events about one object.
	EventLimits = notices.EventLimits
)

// The states of parents, and how their last syncs ended.
const (
	Synced        = health.Synced
	Failing       = health.Failing
	Waiting       = health.Waiting
	Pending       = health.Pending
	ResultNone    = health.ResultNone
	ResultSettled = health.ResultSettled
	ResultMoving  = health.ResultMoving
	ResultUnready = health.ResultUnready
	ResultFailed  = health.ResultFailed
)
