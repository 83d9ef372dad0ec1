package directory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// library writes a library of n files of about size bytes, eight folders deep, and returns its root.
func library(t testing.TB, n, size int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		dir := filepath.Join(root, "h/vendor/github.com/org/repo/gen", fmt.Sprint(i%50), "v1")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, size)
		for b := range text {
			text[b] = "local field = { new(name):: { metadata: name } },\n"[b%50]
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("kind%d.libsonnet", i)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestUnchangedFilesAreNotReadAgain makes files of before look otherwise than those on the disk.
func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	root := library(t, 3, 100)
	later := time.Now().Add(time.Hour)
	first := read(root, "h", "", nil, time.Now())
	if len(first.stamps) != 0 || len(first.Files) != 3 {
		t.Fatalf("%d stamps of %d files that have just changed, want none of 3", len(first.stamps), len(first.Files))
	}
	second := read(root, "h", "", first.stamps, later)
	if len(second.stamps) != 3 {
		t.Fatalf("%d stamps, want 3", len(second.stamps))
	}
	for stamp := range second.stamps {
		second.stamps[stamp] = "as before"
	}
	at := "vendor/github.com/org/repo/gen/1/v1/kind1.libsonnet"
	if err := os.WriteFile(filepath.Join(root, "h", at), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		at: "new", "vendor/github.com/org/repo/gen/0/v1/kind0.libsonnet": "as before", "vendor/github.com/org/repo/gen/2/v1/kind2.libsonnet": "as before",
	}
	if diff := cmp.Diff(want, read(root, "h", "", second.stamps, later).Files); diff != "" {
		t.Errorf("only what has changed is read: -want, +got:\n%s", diff)
	}
}

// TestLinksShareText reads a library that has two names, as jsonnet-bundler lays it out.
func TestLinksShareText(t *testing.T) {
	root := library(t, 1, 100)
	if err := os.Symlink("github.com/org/repo", filepath.Join(root, "h/vendor/repo")); err != nil {
		t.Fatal(err)
	}
	c := read(root, "h", "", nil, time.Now().Add(time.Hour))
	if len(c.Files) != 2 || len(c.stamps) != 1 {
		t.Errorf("%d files and %d texts, want 2 files with one text", len(c.Files), len(c.stamps))
	}
}

// BenchmarkRead reads a library of 5 MiB in 3000 files, at first and again.
func BenchmarkRead(b *testing.B) {
	root := library(b, 3000, 1700)
	before := read(root, "h", "", nil, time.Now().Add(time.Hour)).stamps
	for name, stamps := range map[string]stamps{"first": nil, "again": before} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c := read(root, "h", "", stamps, time.Now().Add(time.Hour)); len(c.Files) != 3000 {
					b.Fatal(c.Err)
				}
			}
		})
	}
}
