package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
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
	archive, want, at := unpack(t, path)
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

// unpack writes the files of a case into a folder, which becomes the working directory. It returns the transcript and where in the
// archive it is.
func unpack(t *testing.T, path string) (archive *txtar.Archive, want string, at int) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, at := t.TempDir(), len(archive.Files)
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
	return archive, want, at
}

// TestRenderHostile runs scripts that never end, or use up what they can. Each has to end in time, with an error about the parent.
func TestRenderHostile(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "hostile.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	archive, _, _ := unpack(t, path)
	for line := range strings.Lines(string(archive.Comment)) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ libretto ")
		if !is {
			continue
		}
		began := time.Now()
		code, _, stderr := run(t, "", strings.Fields(command)...)
		took := time.Since(began)
		if code != cli.ExitProblems || !strings.Contains(stderr, "App default/a") {
			t.Errorf("%s: exit code %d, with %s", command, code, stderr)
		}
		if took > time.Minute {
			t.Errorf("%s: took %s", command, took)
		}
		t.Logf("%s: %s: %s", command, took.Round(time.Millisecond), stderr[:min(len(stderr), 300)])
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
		args := shellWords(strings.ReplaceAll(command, "EXAMPLES", root))
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
