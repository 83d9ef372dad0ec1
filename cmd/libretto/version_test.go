package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// TestVersion checks what scripts read.
func TestVersion(t *testing.T) {
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		c := cli.NewRoot(cli.Process{Args: args, Version: "v1", Commit: "0123456789abcdef", Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &out}, commands...)
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("version")
	if err != nil || !strings.HasPrefix(text, "libretto v1 (0123456789ab) ") {
		t.Errorf("version prints %q (%v)", text, err)
	}
	if flag, err := run("--version"); err != nil || flag != text {
		t.Errorf("--version prints %q (%v), want %q", flag, err, text)
	}
	object, err := run("version", "-o", "json")
	var built cli.Build
	if err := json.Unmarshal([]byte(object), &built); err != nil || built.Version != "v1" || built.Platform == "" || built.GoVersion == "" {
		t.Errorf("-o json prints %q (%v)", object, err)
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := run("version", "-o", "xml"); err == nil || !strings.Contains(err.Error(), "there are text, json") {
		t.Errorf("-o xml: error %v", err)
	}
}
