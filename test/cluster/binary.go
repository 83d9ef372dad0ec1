package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// binDirVariable names the folder of the programs, for tests that run outside of the checkout.
const binDirVariable = "LIBRETTO_BIN_DIR"

const rootModule = "module github.com/libretto-k8s/libretto\n"

// targets says which make target builds a program.
var targets = map[string]string{
	"controlplane": "controlplane",
	"kubectl":      "controlplane",
	"libretto":     "build",

	"libretto-worker": "build",
	"tools/release":   "bin/tools/release",
}

// Binary is the absolute path of a program in bin/. A missing one is an error that says how to build it, never a
// reason to skip a test.
func Binary(name string) (string, error) {
	dir := os.Getenv(binDirVariable)
	if dir == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("program %s is missing (run make %s): %w", name, targets[name], err)
	}
	return path, nil
}

// Root is the folder of the checkout: the nearest one above the working directory that holds the root module.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains(string(content)+"\n", rootModule) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no checkout of libretto above %s", start)
		}
	}
}
