package contract

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/jsonnet"
	"github.com/libretto-k8s/libretto/test/env"
)

// documented is a function of the module as its comment describes it.
type documented struct {
	name, call, result string
	inCEL              bool
}

var documentedFunction = regexp.MustCompile(`(?s)/\*\*((?:[^*]|\*[^/])*)\*/\nexport function (\w+)`)

// documentedFunctions returns the functions of the module with their examples.
func documentedFunctions(t *testing.T) []documented {
	t.Helper()
	var all []documented
	for _, found := range documentedFunction.FindAllStringSubmatch(authoring.Declarations, -1) {
		doc := documented{name: found[2], inCEL: strings.Contains(found[1], "Also in CEL.")}
		_, example, _ := strings.Cut(found[1], "@example")
		for line := range strings.Lines(example) {
			line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "*"), " ")
			if result, ok := strings.CutPrefix(line, "//"); ok {
				doc.result += result + "\n"
			} else {
				doc.call += line
			}
		}
		all = append(all, doc)
	}
	if len(all) < 30 {
		t.Fatalf("libretto.d.ts documents only %d functions", len(all))
	}
	return all
}

// TestExamples runs the example of each function in each language that has it.
func TestExamples(t *testing.T) {
	languages := map[string]struct {
		definition          engines.Definition
		path, before, after string
	}{
		"JavaScript": {javascript.Definition(), "sync.js", "import * as libretto from 'libretto'; export const sync = () => ({ result: libretto.", " });"},
		"Jsonnet":    {jsonnet.Definition(), "sync.jsonnet", "local libretto = import 'libretto'; function(request) { result: libretto.", " }"},
		"CEL":        {cel.Definition(), "sync.cel", "{'result': ", "}"},
	}
	for name, language := range languages {
		engine, err := language.definition.New(engines.Config{})
		env.NoError(t, err)
		for _, function := range documentedFunctions(t) {
			t.Run(name+"/"+function.name, func(t *testing.T) {
				if !strings.HasPrefix(function.call, function.name+"(") {
					t.Fatalf("the example of %s is %q", function.name, function.call)
				}
				text := language.before + function.call + language.after
				program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Path: language.path, Files: map[string]string{language.path: text}}})
				if name == "CEL" && !function.inCEL {
					if err == nil {
						t.Error("CEL has it, and its comment does not say so: add \"Also in CEL.\"")
					}
					return
				}
				env.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				response, err := program.Run(ctx, engines.Call{Request: map[string]any{"parent": map[string]any{}}})
				env.NoError(t, err)
				if diff := cmp.Diff(parsed(t, function.result), response.Body.(map[string]any)["result"]); diff != "" {
					t.Errorf("%s (-documented +got):\n%s", function.call, diff)
				}
			})
		}
	}
}
