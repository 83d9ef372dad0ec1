package hold

// Verdict is what a host would make of an edit before it takes over, for commands.
type Verdict struct {
	// Revision is the ID of the edit's scripts. It is empty if a host previews nothing: the scripts are those that serve, or nothing serves.
	Revision string `json:"revision,omitempty"`
	// Held is why a host would hold the edit, or empty.
	Held string `json:"held,omitempty"`
	// Approve is the command that lets it through.
	Approve string `json:"approve,omitempty"`
	// Basis says what that goes by.
	Basis string `json:"basis,omitempty"`
	// Dropped are the resources of which the children are no longer the definition's: what is there stays as it is.
	Dropped []string `json:"droppedChildResources,omitempty"`
}

// ShortRevision returns the digits of the revision that people see.
func (v Verdict) ShortRevision() string { return v.Revision[:min(len(v.Revision), 16)] }
