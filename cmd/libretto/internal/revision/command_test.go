package revision

import (
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// TestRevisionTranscripts runs the commands of each case.
func TestRevisionTranscripts(t *testing.T) {
	program.Compare(t, "testdata/*.txtar", 1, clitest.Examples)
}
