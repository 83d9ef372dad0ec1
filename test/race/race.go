// Package race tells tests of limits whether the race detector runs: it needs memory that a worker has no right to, and a multiple of all
// that is counted.
package race

import "testing"

// Skip skips a test that measures or limits memory, if the race detector runs.
func Skip(tb testing.TB) {
	tb.Helper()
	if Enabled {
		tb.Skip("the race detector takes several times the memory")
	}
}
