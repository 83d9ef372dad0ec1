package test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

// TestChanged edits files of a repository, and runs the tests that depend on them.
func TestChanged(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "watch.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs(filepath.Join(clitest.Examples, "webapp"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Unpack(t, path)
	if err := os.CopyFS("webapp", os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("names.test.js", "import { test } from 'libretto/test'; test('a', () => {});\n")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	commit := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--no-gpg-sign", "-am", "a"}
	git("add", ".")
	git(commit...)
	changedIs := func(reason, flag, want string) {
		t.Helper()
		code, stdout, stderr := program.Run(t, "", "test", "one", "two", "three", "webapp", "names.test.js", "--scripts-dir", "scripts", "-v", flag)
		files := map[string]bool{}
		for line := range strings.Lines(stdout) {
			if rest, ok := strings.CutPrefix(line, "passed "); ok {
				file, _, _ := strings.Cut(rest, ":")
				files[filepath.ToSlash(file)] = true
			}
		}
		got := strings.Join(slices.Sorted(maps.Keys(files)), " ")
		if got != want || code != 0 || (want == "") != strings.Contains(stderr, "no test depends on a file that is not as in HEAD") {
			t.Errorf("%s: exit %d, %q is run, want %q\n%s%s", reason, code, got, want, stdout, stderr)
		}
	}
	appendTo := func(file, text string) {
		t.Helper()
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(file, string(before)+text)
	}
	changedIs("nothing has changed", "--changed", "")
	appendTo(filepath.Join("one", "hooks", "sync.js"), "\n// edited\n")
	changedIs("a script", "--changed", "names.test.js one/a_test.yaml")
	git(commit...)
	appendTo(filepath.Join("one", "parent.yaml"), "\n# edited\n")
	changedIs("a given file", "--changed", "names.test.js one/a_test.yaml")
	changedIs("an older commit", "--changed=HEAD~1", "names.test.js one/a_test.yaml")
	git(commit...)
	appendTo(filepath.Join("webapp", "cel", "sync.cel.yaml"), "\n# edited\n")
	changedIs("a script of a kustomization", "--changed", "names.test.js webapp/webapp_test.yaml")
	git(commit...)
	write(filepath.Join("scripts", "c", "new.js"), "export const a = 1;\n")
	changedIs("a new script", "--changed", "names.test.js three/c_test.yaml")
	t.Chdir("one")
	if code, stdout, stderr := program.Run(t, "", "test", "../three", "--scripts-dir", "../scripts", "-v", "--changed"); code != 0 || !strings.Contains(stdout, "passed ../three/c_test.yaml") {
		t.Errorf("in a folder below: exit %d, %s%s", code, stdout, stderr)
	}
	for flags, want := range map[string]string{
		"--changed=none": "--changed: git diff: ", "--changed=-x": "--changed=-x: must be a commit, a branch or a tag", "--changed --watch": "leave it or --changed out",
	} {
		if code, _, stderr := program.Run(t, "", append([]string{"test"}, strings.Fields(flags)...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", flags, code, stderr)
		}
	}
}
