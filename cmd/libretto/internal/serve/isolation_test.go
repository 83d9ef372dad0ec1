package serve

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

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
