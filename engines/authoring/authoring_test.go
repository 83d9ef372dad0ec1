package authoring

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet"
)

// TestSameNames shows that both modules have the same functions, and the types too.
func TestSameNames(t *testing.T) {
	vm := jsonnet.MakeVM()
	output, err := vm.EvaluateAnonymousSnippetMulti("names.jsonnet", "local m = "+Jsonnet+"; { [name]: '' for name in std.objectFieldsAll(m) }")
	if err != nil {
		t.Fatal(err)
	}
	var inJsonnet []string
	for name := range output {
		inJsonnet = append(inJsonnet, name)
	}
	slices.Sort(inJsonnet)
	if len(inJsonnet) < 5 {
		t.Fatalf("the Jsonnet module has only %q", inJsonnet)
	}
	for where, text := range map[string]string{"libretto.js": JavaScript, "libretto.d.ts": Declarations} {
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^export function (\w+)`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		if diff := cmp.Diff(inJsonnet, names); diff != "" {
			t.Errorf("functions of %s (-libretto.libsonnet +%s):\n%s", where, where, diff)
		}
	}
}

func TestHashRefuses(t *testing.T) {
	for _, value := range []any{3, []any{errors.New("boom")}, map[string]any{"a": struct{}{}}} {
		if sum, err := Hash(value); err == nil {
			t.Errorf("hash of %v: %s, want an error", value, sum)
		}
	}
}

// TestDeclarationsParse needs no TypeScript to be installed.
func TestDeclarationsParse(t *testing.T) {
	if result := api.Transform(Declarations, api.TransformOptions{Loader: api.LoaderTS}); len(result.Errors) > 0 {
		t.Errorf("libretto.d.ts: %+v", result.Errors)
	}
	if result := api.Transform("("+Project+")", api.TransformOptions{Loader: api.LoaderJS}); len(result.Errors) > 0 {
		t.Errorf("tsconfig.json: %+v", result.Errors)
	}
}

// TestTypeScript checks scripts as an author's editor would, if the machine has TypeScript.
func TestTypeScript(t *testing.T) {
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Skip("there is no tsc on this machine: npm install --global typescript")
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(filepath.Join("testdata", "check"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"libretto.d.ts": Declarations, "tsconfig.json": Project} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command(tsc, "--project", directory).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, said)
	}
}

// offered is some of what each library of the project's tsconfig.json declares. Intl is
// not: the declarations of others need it.
var offered = map[string][]string{
	"ES2015":                  {"Map", "Set", "WeakMap", "WeakSet", "Promise", "Proxy", "Reflect", "Symbol.iterator", "Array.from", "Object.assign", "Math.clz32", "''.normalize", "Uint8Array"},
	"ES2016":                  {"[].includes"},
	"ES2017.Object":           {"Object.values", "Object.entries", "Object.getOwnPropertyDescriptors"},
	"ES2017.String":           {"''.padStart", "''.padEnd"},
	"ES2018.Promise":          {"Promise.prototype.finally"},
	"ES2018.RegExp":           {"/(?<a>b)/.exec('b').groups.a", "/./s.dotAll"},
	"ES2019.Array":            {"[].flat", "[].flatMap"},
	"ES2019.Object":           {"Object.fromEntries"},
	"ES2019.String":           {"''.trimStart", "''.trimEnd"},
	"ES2019.Symbol":           {"Symbol('a').description"},
	"ES2020.Intl":             {},
	"ES2020.Promise":          {"Promise.allSettled"},
	"ES2020.String":           {"''.matchAll"},
	"ES2020.Symbol.WellKnown": {"Symbol.matchAll", "/a/[Symbol.matchAll]"},
	"ES2021.Promise":          {"Promise.any", "AggregateError"},
	"ES2021.String":           {"''.replaceAll"},
	"ES2022.Array":            {"[].at", "new Uint8Array(1).at"},
	"ES2022.Error":            {"new Error('a', { cause: 1 }).cause"},
	"ES2022.Object":           {"Object.hasOwn"},
	"ES2022.String":           {"''.at"},
	"ES2023.Array":            {"[].findLast", "[].findLastIndex", "[].toReversed", "[].toSorted", "[].toSpliced", "[].with"},
}

// TestLibraries shows that the runtime has what the project's libraries declare.
func TestLibraries(t *testing.T) {
	list := regexp.MustCompile(`(?s)"lib": \[(.*?)\]`).FindStringSubmatch(Project)
	if list == nil {
		t.Fatal("tsconfig.json has no list of libraries")
	}
	listed := strings.FieldsFunc(list[1], func(r rune) bool { return strings.ContainsRune("\", \n", r) })
	slices.Sort(listed)
	var known []string
	runtime := goja.New()
	for library, expressions := range offered {
		known = append(known, library)
		for _, expression := range expressions {
			v, err := runtime.RunString(expression)
			if err != nil || goja.IsUndefined(v) {
				t.Errorf("%s: the runtime has no %s: %v", library, expression, err)
			}
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Errorf("libraries (-this test +tsconfig.json):\n%s", diff)
	}
}
