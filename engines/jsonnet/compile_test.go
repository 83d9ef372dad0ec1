package jsonnet

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/test/race"
)

func TestEntries(t *testing.T) {
	const given = `{"value":"ok"}`
	cases := map[string]struct {
		reason, function string
		files            map[string]string
	}{
		"function":          {"what jsonnetd serves", "", map[string]string{"a.jsonnet": `function(request) request.value`}},
		"object":            {"a file for several hooks", "", map[string]string{"a.jsonnet": `{ sync: function(request) request.value, finalize(request):: 'finalize' }`}},
		"hidden field":      {"methods are often hidden", "", map[string]string{"a.jsonnet": `{ sync(request):: request.value }`}},
		"named field":       {"function says which", "other", map[string]string{"a.jsonnet": `{ other(request):: request.value, sync: null }`}},
		"odd field":         {"any name can be a field's", `it's "odd"`, map[string]string{"a.jsonnet": `{ "it's \"odd\"": function(request) request.value }`}},
		"any parameter":     {"its name is the author's", "", map[string]string{"a.jsonnet": `function(r) r.value`}},
		"defaults":          {"other parameters have values of their own", "", map[string]string{"a.jsonnet": `function(request, key='value') request[key]`}},
		"defaults first":    {"the one that is needed is given", "", map[string]string{"a.jsonnet": `function(key='value', r) r[key]`}},
		"only defaults":     {"the one of that name is given", "", map[string]string{"a.jsonnet": `function(key='value', request={}) request[key]`}},
		"all defaults":      {"or else the first", "", map[string]string{"a.jsonnet": `function(r={}, key='value') r[key]`}},
		"no parameter":      {"not every hook looks at the request", "", map[string]string{"a.jsonnet": `function() 'ok'`}},
		"locals":            {"they are no part of the value", "", map[string]string{"a.jsonnet": `local key = 'value'; local f(request) = request[key]; f`}},
		"local in field":    {"wherever they are", "", map[string]string{"a.jsonnet": `{ sync: local k = 'value'; function(x=1, request) request[k] }`}},
		"partial":           {"a function may be made by another", "", map[string]string{"a.jsonnet": `local f(key) = function(request) request[key]; f('value')`}},
		"builtin":           {"or be none of the author's", "", map[string]string{"a.jsonnet": `local get(request) = std.get(request, 'value'); { sync: get }`}},
		"import":            {"a file may be another one's", "", map[string]string{"a.jsonnet": `import 'b.jsonnet'`, "b.jsonnet": `function(x=1, request) request.value`}},
		"extended":          {"objects are made of others", "", map[string]string{"a.jsonnet": `(import 'b.libsonnet') + { key:: 'value' }`, "b.libsonnet": `{ key:: error 'abstract', sync(request): request[self.key] }`}},
		"nested folders":    {"paths are relative to the importer", "", map[string]string{"a.jsonnet": `import 'lib/x/b.libsonnet'`, "lib/x/b.libsonnet": `local c = import '../c.libsonnet'; function(request) request[c.key]`, "lib/c.libsonnet": `{ key: (import '../key.libsonnet') }`, "key.libsonnet": `'value'`}},
		"untidy paths":      {"one file is one value, whatever it is called", "", map[string]string{"a.jsonnet": `local a = import './lib/../b.libsonnet', b = import 'b.libsonnet'; function(request) if a == b then request.value`, "b.libsonnet": `{ x: 1 }`}},
		"importstr":         {"texts can be imported", "", map[string]string{"a.jsonnet": `function(request) importstr 'lib/text.txt'`, "lib/text.txt": "ok"}},
		"importbin":         {"and bytes", "", map[string]string{"a.jsonnet": `function(request) std.decodeUTF8(importbin 'b')`, "b": "ok"}},
		"importstr of self": {"code is a text, too", "", map[string]string{"a.jsonnet": `function(request) if std.startsWith(importstr 'a.jsonnet', 'function(') then 'ok'`}},
		"cycle":             {"files may import each other, as long as values don't need each other", "", map[string]string{"a.jsonnet": `{ ok: 'ok', sync(request): (import 'b.libsonnet').get() }`, "b.libsonnet": `{ get(): (import 'a.jsonnet').ok }`}},
		"self import":       {"even itself", "", map[string]string{"a.jsonnet": `{ ok: 'ok', sync(request): (import 'a.jsonnet').ok }`}},
		"this file":         {"each knows its own name", "", map[string]string{"a.jsonnet": `local b = import 'lib/b.libsonnet'; function(request) if std.thisFile + b == 'a.jsonnetlib/b.libsonnet' then 'ok'`, "lib/b.libsonnet": `std.thisFile`}},
		"dollar":            {"$ is of its own file", "", map[string]string{"a.jsonnet": `{ ok:: 'ok', sync(request): (import 'b.libsonnet').x.y }`, "b.libsonnet": `{ ok: 'ok', x: { y: $.ok } }`}},
		"import in format":  {"what is rewritten may hold what is", "", map[string]string{"a.jsonnet": `function(request) '%s%s' % [(import 'b.libsonnet') % 'k', '']`, "b.libsonnet": `'o%s'`}},
		"import everywhere": {"imports are expressions", "", map[string]string{"a.jsonnet": `function(request, d=import 'b.libsonnet') { [import 'b.libsonnet']: d, assert (import 'b.libsonnet') == 'ok' } [import 'b.libsonnet']`, "b.libsonnet": `'ok'`}},
		"hash bang":         {"a comment as any other", "", map[string]string{"a.jsonnet": "#!/usr/bin/env jsonnet\nfunction(request) request.value"}},
		"host's module":     {"it can be imported from everywhere, by either name", "", map[string]string{"a.jsonnet": `function(request) if (import 'libretto').ordinalOf('k-1', 'k') == 1 then import 'lib/b.libsonnet'`, "lib/b.libsonnet": `(import 'libretto.libsonnet').ownerName({ metadata: { ownerReferences: [{ controller: true, name: 'ok' }] } })`}},
		"own file first":    {"a file of the tree goes before the host's module", "", map[string]string{"a.jsonnet": `function(request) import 'libretto.libsonnet'`, "libretto.libsonnet": `'ok'`}},
		"odd names":         {"paths are not URLs", "", map[string]string{"a.jsonnet": `function(request) import 'b c%20ü:$.libsonnet'`, "b c%20ü:$.libsonnet": `'ok'`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := files("a.jsonnet", c.files)
			src.Script.Function = c.function
			if diff := cmp.Diff(any("ok"), answer(t, src, map[string]any{"value": "ok"})); diff != "" {
				t.Errorf("answer to %s (-want +got):\n%s", given, diff)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	const there = ": there are sync.jsonnet"
	cases := map[string]struct{ reason, text, function, want string }{
		"syntax":             {"the place is the author's", "function(request) {\n  a: ]\n}", "", `sync.jsonnet:2:6: Unexpected: "]"`},
		"unknown variable":   {"Jsonnet knows before it runs", "function(request)\n  requst.parent", "", "sync.jsonnet:2:3: Unknown variable: requst"},
		"self outside":       {"Jsonnet knows before it runs", "function(request) self.x", "", "sync.jsonnet:1:19: Can't use self outside of an object."},
		"unclosed string":    {"the place is the author's", "function(request) 'a", "", "sync.jsonnet:1:19: Unterminated String"},
		"missing":            {"the message says what there is", "\n  import 'b.libsonnet'", "", `sync.jsonnet:2:3: can't import "b.libsonnet": there is no file "b.libsonnet"` + there},
		"missing text":       {"also for texts", "local a = importstr 'b.txt'; if a == '' then {} else {}", "", `sync.jsonnet:1:11: can't import "b.txt": there is no file "b.txt"` + there},
		"missing bytes":      {"also for bytes", "{ [std.type(importbin 'b')]: 1 }", "", `sync.jsonnet:1:13: can't import "b": there is no file "b"` + there},
		"outside":            {"the tree is all there is", "import '../../etc/passwd'", "", `sync.jsonnet:1:1: can't import "../../etc/passwd": it leaves the files of this definition` + there},
		"outside text":       {"the tree is all there is", "importstr '../../../../etc/passwd'", "", `sync.jsonnet:1:1: can't import "../../../../etc/passwd": it leaves the files of this definition` + there},
		"outside and back":   {"the tree has no name", "import 'x/../../tree/sync.jsonnet'", "", `sync.jsonnet:1:1: can't import "x/../../tree/sync.jsonnet": it leaves the files`},
		"absolute":           {"nor is there a disk", "importstr '/etc/passwd'", "", `sync.jsonnet:1:1: can't import "/etc/passwd": there are only the files of this definition, by their path from this one` + there},
		"computed":           {"imports are known at load", "function(request) import ('a' + 'b')", "", "sync.jsonnet:1:26: Computed imports are not allowed"},
		"value":              {"only a function can be called", "{ a: 1 }.a", "", `sync.jsonnet: the file is of type number: it must be function(request) ..., or an object with a function "sync"`},
		"no field":           {"the message says what there is", "{ finalize(request): 1, other:: 2 }", "", `sync.jsonnet: no field "sync": the file is an object with finalize, other`},
		"no field at all":    {"the message says so", "{}", "", `sync.jsonnet: no field "sync": the file is an object without any`},
		"no such function":   {"function must be there by name", "{ sync(request): 1 }", "finalize", `sync.jsonnet: no field "finalize": the file is an object with sync`},
		"function of none":   {"a function has no fields", "function(request) 1", "finalize", `sync.jsonnet: the file is a function, and no object with a field "finalize": leave function out`},
		"no function":        {"a constant can't be called", "{ sync: {} }", "", `sync.jsonnet: the field "sync" is of type object, and no function`},
		"two parameters":     {"there is one thing to give", "{\n  sync:: function(request, other) 1 }", "", "sync.jsonnet:2:10: the hook's function needs 2 arguments: it is given one, the request"},
		"two of a method":    {"there is one thing to give", "{\n  sync(request, other): 1 }", "", "sync.jsonnet: the hook's function needs 2 arguments: it is given one, the request"},
		"two, unseen":        {"there is one thing to give", "local f(a, b) = 1; { sync: f }", "", "sync.jsonnet: the hook's function needs 2 arguments: it is given one, the request"},
		"top level throws":   {"the top level runs at load", "local x = error 'boom';\nif x then {} else {}", "", "sync.jsonnet:1:11: boom"},
		"top level endless":  {"the top level runs at load", "local f(n) = 1 + f(n); { a: f(1), sync: f(2) }", "", "sync.jsonnet:1:18: calls and fields wait for each other more than 500 deep"},
		"request at load":    {"there is none yet", "local p = std.native('$field')('parent'); { sync: p.x }", "", "sync.jsonnet:1:51: a field or an element of null is asked for"},
		"nesting":            {"the parser recurses", "function(request) " + strings.Repeat("[", 501) + strings.Repeat("]", 501), "", "sync.jsonnet: brackets are nested more than 500 deep"},
		"size":               {"the parser takes memory", "//" + strings.Repeat("x", 16<<20), "", "the files of this definition hold 16777218 bytes, more than the 16777216 allowed"},
		"endless file cycle": {"values that need each other are found at load", "import 'sync.jsonnet'", "", "sync.jsonnet:1:1: calls and fields wait for each other more than 500 deep"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script(c.text)
			src.Script.Function = c.function
			got := compileError(t, src)
			if got == nil || got.Kind != engines.Invalid || !strings.HasPrefix(got.Error(), c.want) {
				t.Errorf("error\n%v, want one of kind %s that starts with\n%s", got, engines.Invalid.Reason(), c.want)
			}
		})
	}
}

func TestErrorsInImports(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"syntax":  {"the place is in the imported file", "{ a: ] }", `lib/b.libsonnet:1:6: Unexpected: "]", where a value is needed`},
		"missing": {"the place is that of the import", "[1,\n import 'c.libsonnet']", `lib/b.libsonnet:2:2: can't import "c.libsonnet": there is no file "lib/c.libsonnet": there are a.jsonnet, lib/b.libsonnet`},
		"nesting": {"all files are looked at", strings.Repeat("(", 501), "lib/b.libsonnet: brackets are nested more than 500 deep"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got := compileError(t, files("a.jsonnet", map[string]string{"a.jsonnet": "local b = import 'lib/b.libsonnet'; if std.toString(b) == '' then {} else function(request) 1", "lib/b.libsonnet": c.text}))
			if got == nil || got.Error() != c.want {
				t.Errorf("error\n%v, want\n%s", got, c.want)
			}
		})
	}
}

// TestLazyImports shows that an import of what is not there is an error only if its value
// is needed, as everything in Jsonnet, and a warning.
func TestLazyImports(t *testing.T) {
	const there = ": there are lib/b.libsonnet, sync.jsonnet"
	cases := map[string]struct {
		reason, text, lib string
		warnings          []string
		err               string
	}{
		"none":     {reason: "what is there needs no warning", text: "local b = import 'lib/b.libsonnet'; function(request) 'ok'"},
		"unused":   {reason: "nobody asks for it", text: "local k = import 'k.libsonnet';\nfunction(request) 'ok'", warnings: []string{`sync.jsonnet:1:11: can't import "k.libsonnet": there is no file "k.libsonnet"` + there}},
		"branch":   {reason: "nor in the branch that is not taken", text: "function(request) if request.a then 'ok' else importstr 'k.txt'", warnings: []string{`sync.jsonnet:1:47: can't import "k.txt": there is no file "k.txt"` + there}},
		"library":  {reason: "libraries have more than is used", text: "function(request) (import 'lib/b.libsonnet').ok", lib: "{ ok: 'ok', other: importbin '../k' }", warnings: []string{`lib/b.libsonnet:1:20: can't import "../k": there is no file "k"` + there}},
		"absolute": {reason: "wherever it would be", text: "local k = import '/k.libsonnet'; function(request) 'ok'", warnings: []string{`sync.jsonnet:1:11: can't import "/k.libsonnet": there are only the files of this definition, by their path from this one` + there}},
		"used": {
			reason: "then it is an error at its place", text: "local k = import 'k.libsonnet';\nfunction(request)\n  k.x", warnings: []string{`sync.jsonnet:1:11: can't import "k.libsonnet": there is no file "k.libsonnet"` + there},
			err: `sync.jsonnet:1:11: can't import "k.libsonnet": there is no file "k.libsonnet"` + there,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := caller.Compile(t, files("sync.jsonnet", map[string]string{"sync.jsonnet": c.text, "lib/b.libsonnet": c.lib + map[bool]string{true: "{}"}[c.lib == ""]}))
			if err != nil {
				t.Fatal(err)
			}
			var warnings []string
			for _, w := range program.Warnings() {
				warnings = append(warnings, w.Error())
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"a": true}})
			switch failure := enginetest.AsError(t, err); {
			case c.err == "" && (failure != nil || response.Body != "ok"):
				t.Errorf("answer %v, error %v", response.Body, failure)
			case c.err != "" && (failure == nil || failure.Kind != engines.Failed || failure.Error() != c.err):
				t.Errorf("error %v, want %s", failure, c.err)
			}
		})
	}
}

// TestMissingMembers checks that a function that std or the host's module does not have is a warning of a check.
func TestMissingMembers(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"std":        {"the name that is like it is told", "function(request) std.fliter(1)", "sync.jsonnet:1:23: std.fliter: there is no such function: did you mean filter?"},
		"all of std": {"there are functions of several kinds", "function(request) [std.filter, std.extVar, std.native, std.thisFile, std.length, std.trim]", ""},
		"module":     {"names are as in JavaScript", "local l = import 'libretto';\nfunction(request) l.configmap({})", "sync.jsonnet:2:21: l.configmap: there is no such function: did you mean configMap?"},
		"its name":   {"the name of the file is another one", "local libretto = import 'libretto';\nfunction(request) libretto.nothing", "sync.jsonnet:2:28: libretto.nothing: there is no such function: "},
		"shadowed":   {"it may be anything else", "local l = import 'libretto';\nlocal f(l) = l.x;\nfunction(request) f({ x: 1 })", ""},
		"own std":    {"the script has one of its own", "local std = { fltr: 1 };\nfunction(request) std.fltr", ""},
		"asked for":  {"it is used only if it is there", "function(request) if std.objectHas(std, 'other') then std.other else 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			script := files("sync.jsonnet", map[string]string{"sync.jsonnet": c.text})
			script.Script.Outline = true
			program, err := caller.Compile(t, script)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range program.Warnings() {
				got += w.Error()
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
		})
	}
}

func TestMissingEntry(t *testing.T) {
	got := compileError(t, files("b.jsonnet", map[string]string{"a.jsonnet": ""}))
	if got == nil || got.Kind != engines.Invalid || got.Error() != "b.jsonnet: no such file: there are a.jsonnet" {
		t.Errorf("error %v", got)
	}
}

func TestHTTPContext(t *testing.T) {
	src := script("function(context) context.request.body")
	src.Script.Signature = engines.HTTPContext
	got := compileError(t, src)
	if got == nil || got.Kind != engines.Invalid || !strings.Contains(got.Message, "signature HTTPContext is for hooks") {
		t.Errorf("error %v", got)
	}
}

// TestTooDeep puts so many brackets, or operators, after a source that only what it
// leaves open makes them too many.
func TestTooDeep(t *testing.T) {
	const brackets = "brackets are nested more than 500 deep"
	open := func(n int) string { return strings.Repeat("(", n) }
	cases := map[string]struct{ reason, source, want string }{
		"few":              {"that much is allowed", open(500), ""},
		"many":             {"the parser recurses", open(501), brackets},
		"kinds":            {"all brackets count alike", "f([{" + open(498), brackets},
		"side by side":     {"what is closed is over", "()()[]{}" + open(500), ""},
		"closed too often": {"the parser says so", ")))" + open(501), brackets},
		"strings":          {"brackets in strings are text", `"((((" + '[[\'[['` + open(500), ""},
		"lines":            {"strings may have several lines", "'((\n(('" + open(500), ""},
		"verbatim":         {"a backslash is nothing special there", `@'\' + (` + open(500), brackets},
		"doubled quotes":   {"they are no end", `@'((''((' + @"(""("` + open(500), ""},
		"comments":         {"brackets in comments are text", "// ((((\n # '(((\n /* [[[[ */" + open(500), ""},
		"comment quotes":   {"nor do quotes start anything there", "# don't\n(" + open(500) + " # '", brackets},
		"block":            {"a text block ends at a line that is not indented", "|||\n  ((((\n  |||((\n\n  ((\n|||" + open(500), ""},
		"after a block":    {"what follows is no text", "|||-\n\n\t((((\n ||| + (" + open(500), brackets},
		"unclosed block":   {"the parser says so", "|||\n ((" + open(600), ""},
		"unindented":       {"the parser says so", "|||\n((" + open(499), brackets},
		"masked":           {"closing brackets in strings can't hide what is open", `("))" + (")"` + open(499), brackets},
		"unclosed string":  {"the parser says so", `'` + open(600) + `\`, ""},
		"unary operators":  {"they nest without brackets", strings.Repeat("!", 20001) + "true", "an expression has more than 20000 parts"},
		"sums":             {"they nest to the left", strings.Repeat("1+", 10001) + "1", "an expression has more than 20000 parts"},
		"conditionals":     {"they nest to the right", strings.Repeat("if a then ", 7000) + "1", "an expression has more than 20000 parts"},
		"locals":           {"they nest to the right", strings.Repeat("local a = 1; ", 5000) + "1", "an expression has more than 20000 parts"},
		"several locals":   {"a comma between them ends none", strings.Repeat("local a = 1, b = 1; ", 7000) + "1", "an expression has more than 20000 parts"},
		"in brackets":      {"what is around them counts", strings.Repeat("("+strings.Repeat("!", 100), 250), "an expression has more than 20000 parts"},
		"long list":        {"elements don't nest in each other", "[" + strings.Repeat("1, ", 100000) + "]", ""},
		"long object":      {"nor do fields", "{" + strings.Repeat("aaaa: 'b' + 'c' + { d: 1 },\n", 20000) + "}", ""},
		"long text":        {"it is one token", "'" + strings.Repeat("a b ", 100000) + "'", ""},
		"long comments":    {"they are none", strings.Repeat("// a b c\n# a\n/* x y */", 20000), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := checkNesting(c.source); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("tooDeep gives %q, want %q", got, c.want)
			}
		})
	}
}

// TestDeepest compiles sources that are just within the limits, in a stack as small
// as that of a worker.
func TestDeepest(t *testing.T) {
	stack := 64 << 20 // What a worker allows one.
	if race.Enabled { // Its frames are larger.
		stack *= 4
	}
	defer debug.SetMaxStack(debug.SetMaxStack(stack))
	for name, text := range map[string]string{
		"brackets":     strings.Repeat("[", 499) + strings.Repeat("]", 499),
		"unary":        strings.Repeat("! ", 19990) + "true", // Without spaces the lexer takes time with the square of their number.
		"sums":         strings.Repeat("1+", 9990) + "1",
		"indexes":      "request" + strings.Repeat(".a", 9990),
		"conditionals": strings.Repeat("if true then ", 6600) + "1",
		"locals":       strings.Repeat("local a=1,b()=1; ", 3900) + "1",
		"functions":    strings.Repeat("function() ", 19000) + "1",
		"formats":      strings.Repeat("'%s' % ", 9990) + "1",
		"errors":       strings.Repeat("error ", 19900) + "1",
	} {
		if got := compileError(t, script("function(request) "+text)); got != nil {
			t.Errorf("%s: error %v", name, got)
		}
	}
}
