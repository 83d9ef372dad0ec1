package variant

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
	// ReasonStatusNotStored is for a status with fields that the API server drops.
	ReasonStatusNotStored = "StatusNotStored"
	// ReasonFieldsNotStored is for children with fields that the API server drops.
	ReasonFieldsNotStored = "FieldsNotStored"
	ReasonNotFinalized    = "NotFinalized"
	// ReasonWaiting is for a hook that can't say yet what children there should be. It is no warning.
	ReasonWaiting = "Waiting"
	// ReasonEventsDropped is for events of hooks beyond the limits.
	ReasonEventsDropped = "EventsDropped"
	// ReasonSharedChildren is for children that another definition claims too.
	ReasonSharedChildren = "SharedChildren"
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
)
