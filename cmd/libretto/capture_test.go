package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCaptureRefuses gives capture what it can't run with. What it does on a cluster is in test/integration/diff.
func TestCaptureRefuses(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":         {nil, "name one parent, as KIND/NAME"},
		"no kind":         {[]string{"shop"}, "name one parent, as KIND/NAME"},
		"no name":         {[]string{"webapp/"}, "name one parent, as KIND/NAME"},
		"a namespace":     {[]string{"webapp/prod/shop"}, "name one parent, as KIND/NAME"},
		"too many":        {[]string{"webapp", "shop", "blog"}, "name one parent, as KIND/NAME"},
		"an unknown flag": {[]string{"webapp/shop", "--all"}, "--all"},
		"no cluster":      {[]string{"webapp/shop", "--kubeconfig", none}, "kubeconfig " + none},
		"two arguments":   {[]string{"webapp", "shop", "--kubeconfig", none}, "kubeconfig " + none},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"capture"}, c.args...)...)
			if code != exitCannot || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want %d; no %q in: %s%s", code, exitCannot, c.want, stdout, stderr)
			}
		})
	}
}
