//go:build !linux

package worker

// ProgramPages is empty on this system.
type ProgramPages struct{}

// FindProgramPages returns none.
func FindProgramPages() ProgramPages { return ProgramPages{} }

// Release does nothing.
func (ProgramPages) Release() {}
