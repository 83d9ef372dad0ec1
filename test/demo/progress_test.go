package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeGo is a go that lists three packages, and of which the test says what its other commands print.
const fakeGo = `#!/bin/sh
if [ "$1" = list ]; then
    echo 'go: downloading example.com/listed v1.0.0' >&2
    [ -z "$LIST_FAILS" ] || { echo 'go: no such module' >&2; exit 4; }
    printf 'a\nb\nc\n'
    exit
fi
eval "$BUILD"
`

// TestProgress checks what tools/progress.sh lets through: all but downloads and the names of packages, and the exit code.
func TestProgress(t *testing.T) {
	for reason, c := range map[string]struct {
		build, list    string
		stdout, stderr string
		code           int
	}{
		"downloads and packages are only counted": {
			build: `printf 'go: downloading example.com/m v1.2.3\ninternal/cpu\nk8s.io/api/core/v1\nruntime\n' >&2`,
		},
		"an error is printed whole, with the exit code": {
			build:  `printf 'runtime\n# k8s.io/api\na/b.go:1:2: undefined: x\n\tindented  %%s \\n\n' >&2; exit 7`,
			stderr: "# k8s.io/api\na/b.go:1:2: undefined: x\n\tindented  %s \\n\n",
			code:   7,
		},
		"an error of a download is printed": {
			build:  `echo 'go: example.com/m@v1.2.3: Get "https://example.com": dial tcp: no such host' >&2; exit 1`,
			stderr: "go: example.com/m@v1.2.3: Get \"https://example.com\": dial tcp: no such host\n",
			code:   1,
		},
		"a word that is no package is printed": {build: `echo FAIL >&2`, stderr: "FAIL\n"},
		"a last line without an end is printed": {
			build:  `printf 'signal: killed' >&2; exit 1`,
			stderr: "signal: killed\n",
			code:   1,
		},
		"standard output is the command's": {build: `echo 'go: downloading'; echo runtime`, stdout: "go: downloading\nruntime\n"},
		"without a list nothing is built":  {list: "fails", build: `echo built`, stderr: "go: no such module\n", code: 4},
	} {
		t.Run(reason, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "go")
			if err := os.WriteFile(tool, []byte(fakeGo), 0o700); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "../../tools/progress.sh", "it", ".", tool, "build")
			command.Env = append(os.Environ(), "GO="+tool, "BUILD="+c.build, "LIST_FAILS="+c.list)
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			code := 0
			var exit *exec.ExitError
			if err := command.Run(); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			want := []any{c.stdout, c.stderr, c.code}
			if d := cmp.Diff(want, []any{stdout.String(), stderr.String(), code}); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestProgressInALog checks that a log has the numbers every 15 seconds and at the end. The script's clock is a command, sleep.
func TestProgressInALog(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{
		"go": fakeGo,
		// Sixteen seconds pass at once when the command has printed; the command waits for the sixteenth.
		"sleep": `#!/bin/sh
until [ -e "$BIN/printed" ]; do :; done
echo >>"$BIN/ticks"
[ "$(wc -l <"$BIN/ticks")" -le 16 ] || { : >"$BIN/passed"; exit 1; }
`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "../../tools/progress.sh", "it", ".", filepath.Join(bin, "go"), "build")
	command.Env = append(os.Environ(), "GO="+filepath.Join(bin, "go"), "BIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"), "LIST_FAILS=", `BUILD=
		printf 'a\nb\ngo: downloading example.com/m v1.2.3\n' >&2
		: >"$BIN/printed"
		until [ -e "$BIN/passed" ]; do :; done`)
	got, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	want := "it: 15 s, 2 modules downloaded, 2 of 3 packages compiled\nit: done in 16 s\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}
