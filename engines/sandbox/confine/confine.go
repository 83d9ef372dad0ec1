// Package confine takes from the process that it runs in what a script worker does
// not need: files, network, other processes, memory without bound.
//
// Each measure is tried, and what is in force is reported: which of them a system
// has differs by kernel, by container and by platform. The limits on time are not
// here, because they need none of this.
package confine

// Measures that a worker tries, by the names that are logged and counted.
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

// Measures lists all names.
func Measures() []string {
	return []string{Descriptors, NoNewPrivileges, Undumpable, MemoryLimit, Rlimits, OOMScore, Landlock, Seccomp}
}

// MaxBudget is the most that Budget can be asked for, in bytes: for one call, and for
// what is kept for others.
const MaxBudget = 1<<30 + 256<<20

// Report says of each measure why it is not in force, or "" if it is.
type Report map[string]string

// Confined is this process, once it is confined.
type Confined struct {
	Report Report
	memory memory
}

func (r Report) note(measure string, err error) {
	r[measure] = ""
	if err != nil {
		r[measure] = err.Error()
	}
}
