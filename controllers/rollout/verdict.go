package rollout

// Verdict is what a host would make of an edit before it takes over, for commands.
type Verdict struct {
	// Revision is the ID of the edit's scripts. It is empty if a host previews nothing: the scripts are those that serve, or nothing serves.
	Revision string `json:"revision,omitempty"`
	// Held is why a host would hold the edit, or empty.
	Held string `json:"held,omitempty"`
	// Approve is the command that lets it through.
	Approve string `json:"approve,omitempty"`
	// Basis says what the verdict is based on.
	Basis string `json:"basis,omitempty"`
	// Sentence is what a host would say of it, or empty if it says nothing.
	Sentence string `json:"sentence,omitempty"`
	// Waits is set if the edit does not begin, for the reason in Basis.
	Waits bool `json:"waits,omitempty"`
	// LetsGo says how many parents a new finalize hook would let go of if they were deleted now, where the one that serves would not, or is
	// empty. A host does not ask for that.
	LetsGo string `json:"letsGo,omitempty"`
	// Unknown is how many parents could not be previewed.
	Unknown int `json:"unknownParents,omitempty"`
	// Dropped are the resources of which the children are no longer the definition's: what is there stays as it is.
	Dropped []string `json:"droppedChildResources,omitempty"`
	// Deselected is how many parents are none any more: what was made for them stays as it is.
	Deselected int `json:"deselectedParents,omitempty"`
}

// ShortRevision returns the digits of the revision that people see.
func (v Verdict) ShortRevision() string { return v.Revision[:min(len(v.Revision), 16)] }

// Why returns why a rule holds the edit, with what is unknown, or "".
func (f *Findings) Why(r Rule) string {
	held := f.Held(r)
	if held != "" && f.Unknown > 0 && !f.IsInconclusive() {
		held += "; " + f.Summary()
	}
	return held
}
