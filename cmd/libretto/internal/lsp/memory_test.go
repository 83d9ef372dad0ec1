package lsp

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// TestMemory checks that a script is compiled again if it has changed alone, and that what is remembered is bounded.
func TestMemory(t *testing.T) {
	for _, d := range remembering(standard.Scripts()) {
		if d.Name != "cel" {
			continue
		}
		engine, err := d.New(engines.Config{})
		if err != nil {
			t.Fatal(err)
		}
		compile := func(owner, text string) engines.Program {
			program, err := engine.Compile(t.Context(), engines.Source{Owner: owner, Hook: "sync", Script: &engines.Script{
				Files: engines.Files{"a.cel": text}, Path: "a.cel",
			}})
			if err != nil {
				t.Fatal(err)
			}
			return program
		}
		first := compile("a", "status: {}")
		if compile("a", "status: {}") != first || compile("a", "status: {a: b}") == first {
			t.Error("what has not changed is compiled again, or what has changed is not")
		}
		for i := range 2 * maxCompiled {
			compile(fmt.Sprint(i), "status: {}")
		}
		if n := engine.(*memory).compiled.Len(); n > maxCompiled {
			t.Errorf("%d hooks are remembered, want at most %d", n, maxCompiled)
		}
	}
}
