// Package confine removes the process's access to what a script worker does not need: files, network,
// other processes, unlimited memory.
//
// Each measure is tried, and the report says which are in force: that depends on the kernel, the
// container and the platform. Time limits do not depend on this package.
package confine

import "strings"

// Names of the measures, for logs and metrics.
const (
	Descriptors     = "descriptors"
	NoNewPrivileges = "no_new_privileges"
	Undumpable      = "undumpable"
	MemoryLimit     = "memory_limit"
	Rlimits         = "rlimits"
	OOMScore        = "oom_score"
	Landlock        = "landlock"
	Seccomp         = "seccomp"
)

// Measures returns the names of all measures.
func Measures() []string {
	return []string{Descriptors, NoNewPrivileges, Undumpable, MemoryLimit, Rlimits, OOMScore, Landlock, Seccomp}
}

// Options are what the host, and nobody else, decides about the confinement.
type Options struct {
	// WithoutSeccomp turns the filter of system calls off.
	WithoutSeccomp bool
	// MaxBudget is the largest argument of Budget, in bytes. It is a hard limit: the process can't raise
	// it again.
	MaxBudget int64
	// LandlockABI is the newest version of Landlock to use, for tests of what older kernels lack. Zero is
	// the kernel's own, and a negative one none.
	LandlockABI int
}

// Report maps each measure to the reason why it is not in force, or to "" if it is.
type Report map[string]string

// partial begins the reason for a measure of which only a part is in force.
const partial = "partial: "

// State is how far a measure is in force.
type State string

// The states of a measure.
const (
	Full    State = "full"
	Partial State = "partial"
	None    State = "none"
)

// StateOf returns the state of a measure by its reason in a Report, and why it is not in full force.
func StateOf(reason string) (state State, why string) {
	if reason == "" {
		return Full, ""
	}
	if why, ok := strings.CutPrefix(reason, partial); ok {
		return Partial, why
	}
	return None, reason
}

// Requirement is how much must be in force in a worker. The zero value requires nothing.
type Requirement string

// The requirements.
const (
	RequireNone    Requirement = "none"
	RequireAny     Requirement = "any"     // Landlock, even a part of it, or the filter of system calls.
	RequireSeccomp Requirement = "seccomp" // The filter of system calls.
	RequireAll     Requirement = "all"     // Every measure, in full.
)

// Unmet returns the measures that the requirement misses in a report, with the reason of each, or nothing if it is met.
func (r Requirement) Unmet(report Report) (unmet []string) {
	needed := map[Requirement][]string{RequireAny: {Landlock, Seccomp}, RequireSeccomp: {Seccomp}, RequireAll: Measures()}[r]
	for _, measure := range needed {
		reason, reported := report[measure]
		state, why := StateOf(reason)
		switch {
		case !reported:
			unmet = append(unmet, measure+": not reported")
		case r == RequireAny && state != None:
			return nil
		case state != Full:
			unmet = append(unmet, measure+": "+why)
		}
	}
	return unmet
}

// Confined is the confined process.
type Confined struct {
	Report Report

	memory    memory
	maxBudget uint64
}

func (r Report) set(measure string, err error) {
	r[measure] = ""
	if err != nil {
		r[measure] = err.Error()
	}
}
