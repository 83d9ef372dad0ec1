package variant

import (
	"slices"

	"github.com/libretto-k8s/libretto/engines"
)

// Reasons of events on a parent. SyncError is from metacontroller (section 0 of the
// specification); its message begins with a more precise reason.
const (
	ReasonSyncError = "SyncError"
	// ReasonSynced is for a parent that was reported to fail and does not any more.
	ReasonSynced       = "Synced"
	ReasonAlreadyOwned = "AlreadyOwned"
	ReasonApplyFailed  = "ApplyFailed"
	ReasonMarkMissing  = "MarkMissing"
	// ReasonFieldConflict begins messages only; it is no event's reason.
	ReasonFieldConflict = "FieldConflict"
	ReasonHotLoop       = "HotLoop"
	// ReasonEditHeld begins messages about children that an edit would delete beyond its limits. It is no event's reason.
	ReasonEditHeld = "EditHeld"
	// ReasonStatusNotStored is for a status with fields that the API server drops.
	ReasonStatusNotStored = "StatusNotStored"
	// ReasonFieldsNotStored is for children with fields that the API server drops.
	ReasonFieldsNotStored = "FieldsNotStored"
	ReasonNotFinalized    = "NotFinalized"
	// ReasonWaiting is for a hook that can't say yet what children there should be. It is no warning.
	ReasonWaiting = "Waiting"
	// ReasonForbidden is for a parent that waits for rights of the definition's account, and for its definition.
	ReasonForbidden = "Forbidden"
	// ReasonEventsDropped is for events of hooks beyond the limits.
	ReasonEventsDropped = "EventsDropped"
	// ReasonSharedChildren is for children that another definition claims too.
	ReasonSharedChildren = "SharedChildren"
	// ReasonReleasedChildren is for children whose labels the parent's selector does not match any more.
	ReasonReleasedChildren = "ReleasedChildren"
	// ReasonOutdatedChildren is for children that differ and that their update method, OnDelete, leaves alone. It is no warning.
	ReasonOutdatedChildren = "OutdatedChildren"
	// ReasonFinalizedIgnored is for a sync hook that says that it is done.
	ReasonFinalizedIgnored = "FinalizedIgnored"
	// ReasonResourceUnreadable begins messages about related resources that can't be listed.
	ReasonResourceUnreadable = "ResourceUnreadable"
	// ReasonRevisionInvalid is for a ControllerRevision that the host did not write as it is.
	ReasonRevisionInvalid = "RevisionInvalid"
	// ReasonScriptRevisionUnusable is for a ControllerRevision whose children were made by scripts that can't be called any more.
	ReasonScriptRevisionUnusable = "ScriptRevisionUnusable"
	// ReasonDeadlineExceeded is for a rolling update that has waited for longer than its deadline. It is also the reason of its condition.
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// Reasons for children. A recreated one is deleted, and created by a later sync.
	ReasonCreated   = "Created"
	ReasonRecreated = "Recreated"
	ReasonDeleted   = "Deleted"
	ReasonOrphaned  = "Orphaned"
)

// HostReasons are the reasons of all events that the host emits, on parents and on definitions. No hook may ask for an event with one of
// them: it would say something in the host's name.
var HostReasons = append([]string{
	ReasonSyncError, ReasonSynced, ReasonAlreadyOwned, ReasonApplyFailed, ReasonMarkMissing, ReasonFieldConflict, ReasonHotLoop,
	ReasonEditHeld, ReasonStatusNotStored, ReasonFieldsNotStored, ReasonNotFinalized, ReasonWaiting, ReasonForbidden,
	ReasonEventsDropped, ReasonSharedChildren, ReasonOutdatedChildren, ReasonFinalizedIgnored, ReasonResourceUnreadable,
	ReasonRevisionInvalid, ReasonScriptRevisionUnusable, ReasonDeadlineExceeded, ReasonCreated, ReasonRecreated, ReasonDeleted,
	ReasonOrphaned, ReasonReleasedChildren,
	// Those on definitions. Package definition has the constants.
	"Starting", "Started", "Stopping", "Stopped", "CreateError", "ScriptReloaded", "Held", "RollingOut", "Paused", "Pinned",
	"Serving", "RolledBack", "NotArchived", "StepMatchesNoParent", "RevisionUnavailable", "TestsFailed", "ScriptSourceMissing",
	"ScriptSourceUnreadable", "NoStatusSubresource", "NoStatusChecks", "NoScriptRollout", "ScriptNotCompared", "SchemaMismatch",
	"RelatedResourcesNotDeclared", "RelatedResourceNotServed", "ChildResourceRemoved", "ParentResourceRemoved", "ParentsNotSelected",
	"CredentialsNotReady", "ScriptResting", "InvalidLogLevel", "Approved", "ApprovalInvalid", "FileNotApplied",
	"ShardsWait", // On a lease of the host.
}, reasonsOfErrors()...)

// reasonsOfErrors are those of scripts that do not load, and of hooks that fail.
func reasonsOfErrors() (reasons []string) {
	for _, kind := range engines.Kinds {
		reasons = append(reasons, kind.Reason())
	}
	return reasons
}

func isHostReason(reason string) bool { return slices.Contains(HostReasons, reason) }
