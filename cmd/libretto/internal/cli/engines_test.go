package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

// TestWorkerIn checks which program is started as a worker.
func TestWorkerIn(t *testing.T) {
	cases := map[string]struct {
		mode os.FileMode // Zero if there is no such file.
		want bool
	}{
		"installed":           {0o755, true},
		"not to be executed":  {0o644, false},
		"nothing beside this": {0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			program := filepath.Join(directory, "libretto-worker")
			if tc.mode != 0 {
				if err := os.WriteFile(program, nil, tc.mode); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			if tc.want {
				want = []string{program, worker.Argument, "v1"}
			}
			if got := workerIn(directory, "v1"); !slices.Equal(got, want) {
				t.Errorf("scripts run in %q, want %q", got, want)
			}
		})
	}
}
