// Package confine removes the process's access to what a script worker does not need: files, network,
// other processes, unlimited memory.
//
// Each measure is tried, and the report says which are in force: that depends on the kernel, the
// container and the platform. Time limits do not depend on this package.
package confine

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

// MaxBudget is the largest argument of Budget, in bytes: the limit of one call, and room for cached
// programs and objects.
const MaxBudget = 1<<30 + 256<<20

// Report maps each measure to the reason why it is not in force, or to "" if it is.
type Report map[string]string

// Confined is the confined process.
type Confined struct {
	Report Report
	memory memory
}

func (r Report) set(measure string, err error) {
	r[measure] = ""
	if err != nil {
		r[measure] = err.Error()
	}
}
