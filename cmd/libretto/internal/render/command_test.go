package render

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// TestRender runs the commands of each case.
func TestRender(t *testing.T) {
	program.Compare(t, "testdata/transcripts/*.txtar", 10, clitest.Examples)
}

// TestRenderHostile runs scripts that never end, or use up what they can. Each has to end in time, with an error about the parent.
func TestRenderHostile(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "hostile.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	archive, _, _ := clitest.Unpack(t, path)
	for line := range strings.Lines(string(archive.Comment)) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ libretto ")
		if !is {
			continue
		}
		began := time.Now()
		code, _, stderr := program.Run(t, "", strings.Fields(command)...)
		took := time.Since(began)
		if code != cli.ExitProblems || !strings.Contains(stderr, "App default/a") {
			t.Errorf("%s: exit code %d, with %s", command, code, stderr)
		}
		t.Logf("%s: %s: %s", command, took.Round(time.Millisecond), stderr[:min(len(stderr), 300)])
	}
}
