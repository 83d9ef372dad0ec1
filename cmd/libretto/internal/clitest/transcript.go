package clitest

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

// Compare runs the commands of each case that a pattern matches, which are the lines of its comment that begin with $, in a folder with its
// files, and compares what they print with the part transcript.
func (p Program) Compare(t *testing.T, pattern string, least int, examples string) {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil || len(files) < least {
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
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { p.compare(t, path, root) })
	}
}

func (p Program) compare(t *testing.T, path, root string) {
	t.Helper()
	archive, want, at := Unpack(t, path)
	got := p.Transcript(t, string(archive.Comment), root)
	if *Update {
		Rewrite(t, path, archive, at, got)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", archive.Comment, diff)
	}
}

// Rewrite writes a case with another transcript, which is at that place among its files.
func Rewrite(t *testing.T, path string, archive *txtar.Archive, at int, transcript string) {
	t.Helper()
	archive.Files = append(archive.Files[:at:at], txtar.File{Name: "transcript", Data: []byte(transcript)})
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Unpack writes the files of a case into a folder, which becomes the working directory. It returns the transcript and where in the
// archive it is.
func Unpack(t *testing.T, path string) (archive *txtar.Archive, want string, at int) {
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

// Transcript runs the commands of a comment, which are its lines that begin with $, and returns what they print. EXAMPLES stands for the
// folder of the examples, root.
func (p Program) Transcript(t *testing.T, comment, root string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ libretto ")
		if !is {
			continue
		}
		args := ShellWords(strings.ReplaceAll(command, "EXAMPLES", root))
		if args[0] == "render" {
			args = append(args, "--now", "2026-01-01T00:00:00Z")
		}
		code, stdout, stderr := p.Run(t, "", args...)
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

// ShellWords splits a command into words. Only single quotes are known.
func ShellWords(command string) []string {
	var words []string
	var word strings.Builder
	quoted, inWord := false, false
	for _, r := range command {
		switch {
		case r == '\'':
			quoted, inWord = !quoted, true
		case r == ' ' && !quoted:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
