package variant

// Reasons of the events on a parent. SyncError is metacontroller's (section 0 of
// the specification); the more precise reason begins its message.
const (
	ReasonSyncError    = "SyncError"
	ReasonAlreadyOwned = "AlreadyOwned"
	ReasonApplyFailed  = "ApplyFailed"
	ReasonMarkMissing  = "MarkMissing"
	// ReasonFieldConflict begins messages only; it is no event's reason.
	ReasonFieldConflict = "FieldConflict"
	ReasonHotLoop       = "HotLoop"
	// ReasonStatusNotStored is that of a status of which the API server drops fields.
	ReasonStatusNotStored = "StatusNotStored"
	ReasonNotFinalized    = "NotFinalized"
)
