package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestRender runs the commands of each case, which are the lines of its comment that begin with $, in a folder with its files, and
// compares what they print with the part transcript. EXAMPLES stands for the folder of the examples.
func TestRender(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "render", "*.txtar"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	root, err := filepath.Abs(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testTranscript(t, path, root) })
	}
}

func testTranscript(t *testing.T, path, root string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, want, at := t.TempDir(), "", len(archive.Files)
	for i, f := range archive.Files {
		if f.Name == "transcript" {
			want, at = string(f.Data), i
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	got := transcript(t, string(archive.Comment), root)
	if *update {
		archive.Files = append(archive.Files[:at:at], txtar.File{Name: "transcript", Data: []byte(got)})
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", archive.Comment, diff)
	}
	if again := transcript(t, string(archive.Comment), root); again != got {
		t.Errorf("it is another one the second time: -first +second:\n%s", cmp.Diff(got, again))
	}
}

// transcript runs the commands of a comment.
func transcript(t *testing.T, comment, root string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ libretto ")
		if !is {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(command, "EXAMPLES", root))
		if args[0] == "render" {
			args = append(args, "--now", "2026-01-01T00:00:00Z")
		}
		code, stdout, stderr := run(t, "", args...)
		fmt.Fprintf(&out, "$ libretto %s\n%s", command, stdout)
		if stderr != "" {
			fmt.Fprintf(&out, "[stderr]\n%s", stderr)
		}
		if code != 0 {
			fmt.Fprintf(&out, "[exit %d]\n", code)
		}
	}
	return strings.ReplaceAll(out.String(), root, "EXAMPLES")
}
