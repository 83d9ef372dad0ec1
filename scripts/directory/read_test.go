package directory_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/libretto-k8s/libretto/scripts/directory"
)

// disk lays out a root with files (path: text) and links (path: "-> target").
func disk(t *testing.T, entries map[string]string) string {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "scripts")
	write(t, filepath.Join(top, "outside.js"), "secret")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range entries {
		at := filepath.Join(root, name)
		switch target, link := strings.CutPrefix(text, "-> "); {
		case link:
			mkdir(t, filepath.Dir(at))
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
		case text == "pipe":
			if err := syscall.Mkfifo(at, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			write(t, at, text)
		}
	}
	return root
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, at, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(at))
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	type files = map[string]string
	const (
		leads = "is a link that leads nowhere, or out of --scripts-dir: take it away, or make it a relative one"
		big   = "its files have more than 16 MiB together, from b.js on: take out what is no script, and links to what is there already, which counts again"
	)
	cases := map[string]struct {
		reason string
		disk   map[string]string
		folder string
		files  files
		flaws  []directory.Problem
		err    string
	}{
		"Folders": {
			reason: "files are named by their path below the directory, and not what lies beside it",
			disk:   files{"hooks/sync.js": "s", "hooks/lib/k.js": "k", "other/x.js": "x"},
			folder: "hooks", files: files{"sync.js": "s", "lib/k.js": "k"},
		},
		"Whole": {
			reason: "a dot is the root itself",
			disk:   files{"a/sync.js": "s", "b.js": "b"},
			folder: ".", files: files{"a/sync.js": "s", "b.js": "b"},
		},
		"Hidden": {
			reason: "what editors and version control leave is no script",
			disk:   files{"h/sync.js": "s", "h/.sync.js.swp": "\xff", "h/.git/config": "g", "h/sync.js~": "old", "h/..2024/x.js": "x"},
			folder: "h", files: files{"sync.js": "s"},
		},
		"Mounted": {
			reason: "of a mounted ConfigMap the files behind the ..data link are given, once",
			disk: files{
				"h/..2024_1/sync.js": "new", "h/..2024_1/lib/k.js": "k", "h/..data": "-> ..2024_1",
				"h/sync.js": "-> ..data/sync.js", "h/lib": "-> ..data/lib", "h/gone.js": "-> ..data/gone.js",
			},
			folder: "h", files: files{"sync.js": "new", "lib/k.js": "k"},
		},
		"MountedBelow": {
			reason: "a mounted ConfigMap may lie below the directory",
			disk:   files{"h/one/..1/sync.js": "s", "h/one/..data": "-> ..1", "h/one/sync.js": "-> ..data/sync.js"},
			folder: "h", files: files{"one/sync.js": "s"},
		},
		"Links": {
			reason: "links within the root are followed, to files and to folders",
			disk:   files{"h/sync.js": "-> ../shared/s.js", "h/lib": "-> ../shared", "shared/s.js": "s"},
			folder: "h", files: files{"sync.js": "s", "lib/s.js": "s"},
		},
		"Vendor": {
			reason: "jsonnet-bundler links the names that libraries had before to where they are",
			disk: files{
				"h/vendor/github.com/org/repo/main.libsonnet": "m", "h/vendor/repo": "-> github.com/org/repo",
				"h/jsonnetfile.json": "{}", "h/vendor/.jsonnetfile": "x",
			},
			folder: "h", files: files{"vendor/github.com/org/repo/main.libsonnet": "m", "vendor/repo/main.libsonnet": "m", "jsonnetfile.json": "{}"},
		},
		"LinksOut": {
			reason: "nothing outside of the root is read, however the link is written",
			disk: files{
				"h/a.js": "-> ../../outside.js", "h/b.js": "-> /etc/hostname", "h/c": "-> ../..", "h/sync.js": "s",
				"h/d.js": "-> via", "h/via": "-> ../../outside.js",
			},
			folder: "h", files: files{"sync.js": "s"},
			flaws: []directory.Problem{{Path: "a.js", Message: leads}, {Path: "b.js", Message: leads}, {Path: "c", Message: leads}, {Path: "d.js", Message: leads}, {Path: "via", Message: leads}},
		},
		"DataLeadsOut": {
			reason: "a link that Kubernetes would not have made is no volume's, and is not followed",
			disk:   files{"h/..data": "-> ../..", "h/sync.js": "s"},
			folder: "h", files: files{"sync.js": "s"},
		},
		"FolderLeadsOut": {
			reason: "the directory itself may not be a link out of the root",
			disk:   files{"h": "-> /etc"},
			folder: "h", err: "statat h: path escapes from parent: it must not lead out of --scripts-dir",
		},
		"Circle": {
			reason: "a link back is reported and ends there",
			disk:   files{"h/sync.js": "s", "h/lib/loop": "-> .."},
			folder: "h", files: files{"sync.js": "s"},
			flaws: []directory.Problem{{Path: "lib/loop", Message: "is a link to a directory that it lies in: take it away"}},
		},
		"Pipe": {
			reason: "a pipe would be waited for without end",
			disk:   files{"sync.js": "s", "pipe": "pipe"},
			folder: ".", files: files{"sync.js": "s"},
			flaws: []directory.Problem{{Path: "pipe", Message: "is no regular file: take it away"}},
		},
		"TooMuch": {
			reason: "all files together are bounded, and the rest is not read",
			disk:   files{"a.js": strings.Repeat("a", directory.MaxBytes-1), "b.js": "bb", "c.js": "c"},
			folder: ".", err: big,
		},
		"Missing": {
			reason: "a directory that is not there has no files, which is no error of reading",
			folder: "later",
		},
		"File": {
			reason: "a file is no directory",
			disk:   files{"sync.js": "s"},
			folder: "sync.js", err: "it is a file: name the directory that holds it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := directory.Read(disk(t, tc.disk), tc.folder)
			err := ""
			if got.Err != nil {
				err = got.Err.Error()
			}
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Errorf("%s: error: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.files, got.Files, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: files: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.flaws, got.Problems); diff != "" {
				t.Errorf("%s: flaws: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadWithoutRoot(t *testing.T) {
	if got := directory.Read(filepath.Join(t.TempDir(), "absent"), "."); got.Files != nil || got.Err != nil {
		t.Errorf("a root that is not there yet: %v, %v, want neither files nor an error", got.Files, got.Err)
	}
}

// TestReadWithout leaves out entries of a name, wherever they are.
func TestReadWithout(t *testing.T) {
	root := disk(t, map[string]string{
		"sync.js": "a", "node_modules/a/index.js": "b", "lib/node_modules/b.js": "c", "lib/node_modules.js": "d",
	})
	want := map[string]string{"sync.js": "a", "lib/node_modules.js": "d"}
	if diff := cmp.Diff(want, directory.ReadWithout("node_modules", root, ".").Files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
