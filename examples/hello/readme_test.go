// Package hello_test checks what the README shows.
package hello_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestReadme checks that the YAML in the project's README is a literal part of hello.yaml.
func TestReadme(t *testing.T) {
	example := read(t, "hello.yaml")
	blocks := yamlBlock.FindAllStringSubmatch(read(t, filepath.Join("..", "..", "README.md")), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no YAML block, so that nothing would be checked")
	}
	for _, block := range blocks {
		if !strings.Contains(example, block[1]) {
			t.Errorf("README.md shows what hello.yaml does not have: copy it from there:\n%s", block[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
