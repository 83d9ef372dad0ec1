package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

func TestWithEngines(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "controllers", "api", "v1alpha1", "script.go"))
	if err != nil {
		t.Fatal(err)
	}
	lua := engines.Definition{Name: "Lua", Extensions: []string{".lua", ".lua.txt"}}
	got, err := withEngines(source, append(standard.Scripts(), lua))
	if err != nil {
		t.Fatal(err)
	}
	unwrapped := strings.ReplaceAll(string(got), "\n\t// ", " ")
	for _, want := range []string{
		"set engine to JavaScript, Jsonnet, CEL or Lua\"\n",
		"|cel|cel[.]yaml|lua|lua[.]txt)$')\",message=\"the path does not tell the language: end it in .js, ",
		".cel.yaml, .lua or .lua.txt, or set engine to JavaScript, Jsonnet, CEL or Lua\",fieldPath",
		".lua and .lua.txt are Lua.",
		"Enum=JavaScript;Jsonnet;CEL;Lua\n",
	} {
		if !strings.Contains(unwrapped, want) && !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	again, err := withEngines(got, standard.Scripts())
	if err != nil || string(again) != string(source) {
		t.Errorf("without the engine, error %v:\n%s", err, again)
	}
	if _, err := withEngines([]byte("package v1alpha1"), standard.Scripts()); err == nil {
		t.Error("a file without the markers is no error")
	}
}
