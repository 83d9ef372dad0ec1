package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippets reads the snippets for editors, each as it is when nothing is typed into it.
func snippets(t *testing.T) map[string]string {
	t.Helper()
	var all map[string]struct {
		Scope, Prefix, Description string
		Body                       []string
	}
	text := readFile(t, "..", "..", "editors", "vscode", "libretto.code-snippets")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	expanded, prefixes := map[string]string{}, map[string]bool{}
	for name, s := range all {
		if key := s.Scope + " " + s.Prefix; prefixes[key] || s.Description == "" || !strings.HasPrefix(s.Prefix, "libretto-") {
			t.Errorf("%s: prefix %s, description %q: each has a prefix of its own in its languages, and is described", name, s.Prefix, s.Description)
		} else {
			prefixes[key] = true
		}
		expanded[name] = expand(strings.Join(s.Body, "\n"))
	}
	return expanded
}

// placeholder matches $1, ${1:default} and ${1|first,second|} that are not escaped, and an escaped $.
var placeholder = regexp.MustCompile(`\\\$|\$(\d+)|\$\{(\d+):([^{}]*)\}|\$\{(\d+)\|([^,|]*)[^|]*\|\}`)

// expand returns a snippet with the default or the first choice of each placeholder, wherever it is repeated.
func expand(body string) string {
	values := map[string]string{}
	for _, found := range placeholder.FindAllStringSubmatch(body, -1) {
		if found[2] != "" {
			values[found[2]] = found[3]
		} else if found[4] != "" {
			values[found[4]] = found[5]
		}
	}
	return placeholder.ReplaceAllStringFunc(body, func(text string) string {
		if text == `\$` {
			return "$"
		}
		found := placeholder.FindStringSubmatch(text)
		return values[found[1]+found[2]+found[4]]
	})
}

// TestSnippets checks and tests a controller that is made of snippets alone, in each language, and uses each of them once at least.
func TestSnippets(t *testing.T) {
	all, used := snippets(t), map[string]bool{}
	get := func(name string) string {
		t.Helper()
		if all[name] == "" {
			t.Fatalf("there is no snippet %q", name)
		}
		used[name] = true
		return all[name]
	}
	indented := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	test := get("ControllerTest") + get("Case with steps") + get("Case that begins after another") + get("Case that calls a hook")
	composite, decorator := get("CompositeController"), get("DecoratorController")
	withOthers := strings.Replace(composite, "  hooks:\n", "  relatedResources: [{apiVersion: v1, resource: secrets}]\n  hooks:\n"+
		"    finalize: {version: v2, script: {path: finalize.js}}\n    customize: {version: v2, script: {path: customize.js}}\n", 1)
	cel := get("CEL hook") + indented(get("CEL child that may be left out")) + indented(get("CEL child for each element"))
	for name, files := range map[string]map[string]string{
		"JavaScript": {
			"definition.yaml": withOthers, "sync.js": get("Sync hook"), "finalize.js": get("Finalize hook"), "customize.js": get("Customize hook"),
			"a_test.yaml": test, "sync.test.js": get("Test of a function"),
		},
		"TypeScript": {
			"definition.yaml": strings.Replace(composite, "sync.js", "sync.ts", 1), "sync.ts": get("Sync hook"), "a_test.yaml": test,
			"sync.test.ts": strings.Replace(get("Test of a function"), "sync.js", "sync.ts", 1),
		},
		"Jsonnet": {
			"definition.yaml": strings.Replace(composite, "sync.js", "sync.jsonnet", 1), "sync.jsonnet": get("Jsonnet hook"), "a_test.yaml": test,
		},
		"CEL":       {"definition.yaml": strings.Replace(composite, "sync.js", "sync.cel.yaml", 1), "sync.cel.yaml": cel, "a_test.yaml": test},
		"map":       {"definition.yaml": get("MapController"), "map.js": get("Map hook")},
		"decorator": {"definition.yaml": decorator, "decorate.js": get("Sync hook of a decorator")},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			files["crd.yaml"] = snippetCRD
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			mustRun(t, "check", "-f", folder, "--strict", "--scripts", "default/hooks="+folder)
			if files["a_test.yaml"] != "" {
				mustRun(t, "test", folder)
			}
		})
	}
	for name := range all {
		if !used[name] {
			t.Errorf("the snippet %q is not tried", name)
		}
	}
}

const snippetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
