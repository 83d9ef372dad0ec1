package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestRequireConfinement checks which requirements let a host start if the filter of system calls is turned off.
func TestRequireConfinement(t *testing.T) {
	for require, refused := range map[string]bool{"none": false, "seccomp": true, "all": true} {
		i := defaultIsolation()
		i.seccomp, i.require = false, require
		err := i.requireConfinement("")
		if (err != nil) != refused {
			t.Errorf("%s: %v, want that it is refused: %v", require, err, refused)
		}
		for _, part := range []string{"--require-confinement=" + require, "seccomp: ", "give --require-confinement=none"} {
			if refused && (err == nil || !strings.Contains(err.Error(), part)) {
				t.Errorf("%s: %v, want a message with %q", require, err, part)
			}
		}
	}
	inThisProcess := defaultIsolation()
	inThisProcess.kind = isolationNone
	if err := inThisProcess.requireConfinement(""); err != nil {
		t.Errorf("--script-isolation=none is refused: %v", err)
	}
}
