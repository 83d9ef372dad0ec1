package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

func TestTypes(t *testing.T) {
	tests := withStamp(authoring.TestDeclarations)
	fresh := map[string]string{"libretto.d.ts": withStamp(authoring.Declarations), "libretto-test.d.ts": tests, "tsconfig.json": authoring.Project}
	older := stampStart + "0.1" + stampSum + checksum("// old\n") + "\n// old\n"
	cases := map[string]struct {
		reason string
		there  map[string]string
		force  bool
		want   map[string]string
		fails  bool
	}{
		"Empty":     {reason: "all are written", want: fresh},
		"Again":     {reason: "writing again changes nothing", there: fresh, want: fresh},
		"Older":     {reason: "a new version replaces what an old one wrote", there: map[string]string{"libretto.d.ts": older}, want: fresh},
		"LineEnds":  {reason: "git's line ends are no edit", there: map[string]string{"libretto.d.ts": strings.ReplaceAll(older, "\n", "\r\n")}, want: fresh},
		"Edited":    {reason: "an edit is not lost", there: map[string]string{"libretto.d.ts": older + "// mine\n"}, want: map[string]string{"libretto.d.ts": older + "// mine\n"}, fails: true},
		"NotOurs":   {reason: "nor is a foreign file", there: map[string]string{"libretto.d.ts": "mine"}, want: map[string]string{"libretto.d.ts": "mine"}, fails: true},
		"Project":   {reason: "existing settings are kept", there: map[string]string{"tsconfig.json": "{}"}, want: map[string]string{"libretto.d.ts": fresh["libretto.d.ts"], "libretto-test.d.ts": tests, "tsconfig.json": "{}"}},
		"Force":     {reason: "--force replaces all", there: map[string]string{"libretto.d.ts": "mine", "tsconfig.json": "{}"}, force: true, want: fresh},
		"OtherFile": {reason: "other files are not changed", there: map[string]string{"sync.ts": "x"}, want: map[string]string{"libretto.d.ts": fresh["libretto.d.ts"], "libretto-test.d.ts": tests, "tsconfig.json": fresh["tsconfig.json"], "sync.ts": "x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			directory := t.TempDir()
			for name, text := range c.there {
				if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"types", "--directory", directory}
			if c.force {
				args = append(args, "--force")
			}
			var out bytes.Buffer
			err := command(process{args: args, stdout: &out, stderr: &out}).ExecuteContext(t.Context())
			if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "--force") {
				t.Errorf("error %v, want one that names --force: %v", err, c.fails)
			}
			if diff := cmp.Diff(c.want, filesIn(t, directory)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func filesIn(t *testing.T, directory string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}
