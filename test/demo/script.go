package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// readScript returns the example's script.
func readScript() (string, error) {
	script, err := os.ReadFile(filepath.Join(exampleFolder, scriptName))
	if err != nil {
		return "", fmt.Errorf("script: %w", err)
	}
	return string(script), nil
}

// applyScript edits a copy of the script as its author would, and applies it. Only the ConfigMap changes.
func (d *demo) applyScript(ctx context.Context, before, after string) error {
	d.out.diff(diff(scriptName, before, after))
	path := filepath.Join(d.work, scriptName)
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		return fmt.Errorf("edited script: %w", err)
	}
	return d.kubectlPiped(ctx,
		[]string{"create", "configmap", configMapName, "-n", scriptNamespace, "--from-file=" + path, "--dry-run=client", "-o", "yaml"},
		[]string{"apply", "-f", "-"})
}
