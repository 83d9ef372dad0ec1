package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

// BenchmarkKey is a key in a script of examples/vitess: the time until the editor is shown what it changes, with what is waited for further
// keys.
func BenchmarkKey(b *testing.B) {
	folder, err := filepath.Abs(filepath.Join(clitest.Examples, "vitess"))
	if err != nil {
		b.Fatal(err)
	}
	read, err := os.ReadFile(filepath.Join(folder, "shard.jsonnet"))
	if err != nil {
		b.Fatal(err)
	}
	text := string(read)
	mistyped := strings.Replace(text, "shard.spec.tablets", "shard.spec.tablet", 1)
	e, wait := startEditor(b, folder)
	e.open("shard.jsonnet", mistyped)
	e.until("shard.jsonnet", 1)
	for i := 0; b.Loop(); i++ {
		e.change("shard.jsonnet", []string{text, mistyped}[i%2])
		e.until("shard.jsonnet", i%2)
	}
	if err := e.server.Exit(b.Context()); err != nil {
		b.Fatal(err)
	}
	wait()
}
