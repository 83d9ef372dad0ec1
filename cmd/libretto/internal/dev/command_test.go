package dev

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

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
