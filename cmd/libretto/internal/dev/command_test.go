package dev

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// TestStoppedAtOnce stops the command while it starts, which is no failure.
func TestStoppedAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o := &options{cluster: cli.DefaultClusterFlags(), verbosity: -1}
	if err := run(ctx, cli.Process{Stdout: io.Discard, Stderr: io.Discard}, o, []string{t.TempDir()}); err != nil {
		t.Error(err)
	}
}

// TestUnwritableHome has a home in which nothing can be written, as in many containers: the kubeconfig is elsewhere.
func TestUnwritableHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", file)
	t.Setenv("XDG_CACHE_HOME", file)
	t.Setenv("TMPDIR", t.TempDir())
	path, err := writeKubeconfig("http://localhost:8001", 8001)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestPrint checks that a shell can read the line that has kubectl reach the cluster.
func TestPrint(t *testing.T) {
	for name, c := range map[string]struct{ reason, folder, quote string }{
		"plain": {"nothing is in the way", "cache", ""},
		"space": {"a shell divides words there", "Jane Doe", "'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			home := filepath.Join(t.TempDir(), c.folder)
			t.Setenv("HOME", home)
			t.Setenv("XDG_CACHE_HOME", home)
			var out bytes.Buffer
			s := &session{Process: cli.Process{Stdout: &out}, options: &options{}}
			if err := s.print(8001); err != nil {
				t.Fatal(err)
			}
			_, path, _ := strings.Cut(out.String(), "export KUBECONFIG=")
			if !strings.HasPrefix(path, c.quote+home) || !strings.HasSuffix(path, "dev-8001.kubeconfig"+c.quote+"\n") {
				t.Errorf("printed %q, want it quoted by %q", out.String(), c.quote)
			}
		})
	}
}
