package enginetest

// cases are what every engine does, by name.
var cases = map[string]testCase{
	"values":                 {"what a hook answers comes as package unstructured represents JSON", checkValues},
	"numbers":                {"whole numbers that a hook makes are int64, others float64", checkNumbers},
	"large request":          {"a request of a megabyte goes through whole", checkLarge},
	"statefulset":            {"a controller's hook answers the same in every language", checkStatefulSet},
	"hooks of all kinds":     {"so do a decorator's, a map's and those that select and finalize", checkKinds},
	"request is not changed": {"objects of a request are shared with caches", checkRequestUnchanged},
	"concurrent calls":       {"a program is used by many goroutines at once, on shared objects", checkConcurrent},
	"no state":               {"no call sees what another one left behind", checkNoState},
	"cancel":                 {"a call that nobody waits for ends", checkCancel},
	"already over":           {"a call whose context is over does not start", checkAlreadyOver},
	"deadline":               {"a hook that does not answer in time is a Timeout", checkDeadline},
	"after a deadline":       {"a call that was stopped does not spoil the next one", checkAfterDeadline},
	"failure":                {"a hook that throws is Failed, with its message", checkFailure},
	"place of a failure":     {"the error names the line that threw", checkFailurePlace},
	"invalid source":         {"a source that does not load is Invalid", checkInvalid},
	"place of an error":      {"the error names the line that does not load", checkInvalidPlace},
	"wrong source":           {"a source of the other kind is Invalid, not a crash", checkWrongSource},
	"time dependent":         {"an answer that read the clock says so, and is the same for the same time", checkTimeDependent},
	"read fields":            {"what a hook did not look at may change without asking it again", checkRead},
	"not time dependent":     {"an answer that depends on its request alone may be remembered", checkNotTimeDependent},
}
