package jsonnet

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// TestScanImports compares what the scan finds with what the parser does, places included.
func TestScanImports(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		unknown      bool
	}{
		"none":          {"nothing to find", "{ a: 1 }", false},
		"word":          {"a part of a word is none", "local reimport = 1, importx = 2, ximportstr = 3; reimport + importx + ximportstr", false},
		"kinds":         {"of code, text and bytes", "[import 'a', importstr \"b\", importbin 'c']", false},
		"places":        {"by line and column, in bytes as the parser counts", "{\n  'é': 'é' + (import 'a').b,\n\n\tc: [importstr 'd', import 'e'],\n}", false},
		"in strings":    {"they are text", `["import 'a'", 'importstr "b"', @'import "c"', |||` + "\n  import 'd'\n||| + 'x']", false},
		"in comments":   {"they are none", "// import 'a'\n# import 'b'\n/* import 'c' */ import 'd'", false},
		"comment after": {"the string may come later", "import // x 'y'\n /* 'z' */ # 'w'\n 'a'", false},
		"no space":      {"none is needed", "[import'a',import\"b\"]", false},
		"escapes":       {"the parser reads them", `import 'a\u0062'`, true},
		"verbatim":      {"the parser reads them", `import @'a'`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			file, err := parseFile("a.jsonnet", c.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := scanImports(c.text)
			if ok == c.unknown {
				t.Fatalf("known %v", ok)
			}
			if diff := cmp.Diff(file.imports, got, cmp.AllowUnexported(importRef{})); ok && diff != "" {
				t.Errorf("imports (-parser +scan):\n%s", diff)
			}
		})
	}
}

func FuzzScanImports(f *testing.F) {
	for _, seed := range []string{"import 'a'", "[importstr 'b', import\n'c'] # import", `@"import" + |||` + "\n import 'a'\n|||", "{ import: 1 }"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parseFile("a.jsonnet", text, nil)
		got, ok := scanImports(text)
		if err != nil || !ok {
			return
		}
		if diff := cmp.Diff(file.imports, got, cmp.AllowUnexported(importRef{})); diff != "" {
			t.Errorf("imports (-parser +scan):\n%s", diff)
		}
	})
}

// TestVendor resolves as jsonnet -J vendor does.
func TestVendor(t *testing.T) {
	const entry = "sync.jsonnet"
	cases := map[string]struct {
		reason, text string
		files        map[string]string
		want         any
		err          string
	}{
		"vendored": {"jsonnet-bundler's layout", "function(request) (import 'github.com/o/lib/main.libsonnet').name",
			map[string]string{"vendor/github.com/o/lib/main.libsonnet": "import 'part.libsonnet'", "vendor/github.com/o/lib/part.libsonnet": "{ name: 'part' }"}, "part", ""},
		"between libraries": {"a library finds another", "function(request) import 'a/main.libsonnet'",
			map[string]string{"vendor/a/main.libsonnet": "import 'b/main.libsonnet'", "vendor/b/main.libsonnet": "'b'"}, "b", ""},
		"from a folder": {"vendor is at the top of the tree", "function(request) import 'hooks/a.libsonnet'",
			map[string]string{"hooks/a.libsonnet": "import 'b/main.libsonnet'", "vendor/b/main.libsonnet": "'b'"}, "b", ""},
		"relative first": {"as in jsonnet", "function(request) import 'a.libsonnet'",
			map[string]string{"a.libsonnet": "'near'", "vendor/a.libsonnet": "'far'"}, "near", ""},
		"text": {"also for texts", "function(request) importstr 'a/text'", map[string]string{"vendor/a/text": "t"}, "t", ""},
		"host's module": {"it comes last", "function(request) (import 'libretto.libsonnet').mine",
			map[string]string{"vendor/libretto.libsonnet": "{ mine: 'mine' }"}, "mine", ""},
		"up and back": {"as a path below vendor", "function(request) import 'hooks/a.libsonnet'",
			map[string]string{"hooks/a.libsonnet": "import '../../b.libsonnet'", "vendor/x": ""}, nil,
			`hooks/a.libsonnet:1:1: can't import "../../b.libsonnet": it leaves the files of this definition`},
		"missing": {"the message says where it was looked for", "function(request) import 'b'", map[string]string{"vendor/a": ""}, nil,
			`sync.jsonnet:1:19: can't import "b": there is no file "b" or "vendor/b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			c.files[entry] = c.text
			response, failure := run(t, files(entry, c.files), nil, time.Minute)
			if c.err != "" && (failure == nil || !strings.HasPrefix(failure.Error(), c.err)) || c.err == "" && failure != nil {
				t.Fatalf("error %v, want %q", failure, c.err)
			}
			if diff := cmp.Diff(c.want, response.Body); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSameFileTwice imports a file as code, as text and by two paths: its value is one, and std.thisFile its path.
func TestSameFileTwice(t *testing.T) {
	src := files("a/sync.jsonnet", map[string]string{
		"a/sync.jsonnet": "function(request) [(import 'b.libsonnet').file, importstr 'b.libsonnet', (import '../a/b.libsonnet').file, std.thisFile, (import 'b.libsonnet').format]",
		"a/b.libsonnet":  "{ file: std.thisFile, format: '%s-%03d' % ['x', 7] }",
	})
	want := []any{"a/b.libsonnet", src.Script.Files["a/b.libsonnet"], "a/b.libsonnet", "a/sync.jsonnet", "x-007"}
	if diff := cmp.Diff(any(want), answer(t, src, nil)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func newEngine() engine { return engine{stoppable: true, cache: newCache()} }

// TestKept shows which files are parsed again: none of the same path and content, whatever the definition and revision.
func TestKept(t *testing.T) {
	e := newEngine()
	tree := map[string]string{"sync.jsonnet": "function(request) (import 'a.libsonnet').a", "a.libsonnet": "{ a: 1, b: import 'b.libsonnet' }", "b.libsonnet": "2"}
	compile := func(tree map[string]string, checked map[string]bool) (*linked, error) {
		src := files("sync.jsonnet", tree)
		src.Script.Checked = checked
		compiled, err := e.Compile(t.Context(), src)
		if err != nil {
			return nil, err
		}
		return compiled.(*program).linked, nil
	}
	first, err := compile(tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree = map[string]string{"sync.jsonnet": "function(request) (import 'a.libsonnet').b", "a.libsonnet": tree["a.libsonnet"], "b.libsonnet": "3"}
	second, err := compile(tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, same := range map[string]bool{"sync.jsonnet": false, "a.libsonnet": true, "b.libsonnet": false} {
		if got := first.node(path) == second.node(path); got != same {
			t.Errorf("%s is the same: %v, want %v", path, got, same)
		}
	}
	tree["b.libsonnet"] = "]"
	if _, err := compile(tree, nil); err == nil || !strings.HasPrefix(err.Error(), "b.libsonnet:1:1: Unexpected") {
		t.Errorf("a file that is not used and does not parse: error %v", err)
	}
	if _, err := compile(tree, map[string]bool{"b.libsonnet": true}); err != nil {
		t.Errorf("a file that need not be checked: error %v", err)
	}
	tree["c.libsonnet"] = "]"
	delete(tree, "b.libsonnet")
	if program, err := compile(tree, nil); err != nil || len(program.missing) != 1 {
		t.Errorf("a file that nothing imports: error %v, want a warning about what is missing", err)
	}
}

// TestModuleKept shows that the host's own module is parsed once, whoever imports it.
func TestModuleKept(t *testing.T) {
	e := newEngine()
	var parsed []ast.Node
	for _, text := range []string{"local libretto = import 'libretto'; function(request) libretto.hash(1)", "function(request) (import 'libretto.libsonnet').hash(2)"} {
		compiled, err := e.Compile(t.Context(), script(text))
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, compiled.(*program).linked.node(preludeFile))
	}
	if parsed[0] == nil || parsed[0] != parsed[1] {
		t.Errorf("the module is parsed again: %p and %p", parsed[0], parsed[1])
	}
}

// TestFirstError reports the error of the first file, in the order of imports, however many are parsed at once.
func TestFirstError(t *testing.T) {
	tree := map[string]string{"sync.jsonnet": "function(request) ["}
	for i := range 50 {
		tree["sync.jsonnet"] += fmt.Sprintf("import '%d',\n", i)
		tree[fmt.Sprint(i)] = "{}"
	}
	tree["sync.jsonnet"] += "]"
	tree["7"], tree["8"], tree["49"] = "7 +", "8 +", "]"
	for range 20 {
		if _, err := newEngine().Compile(t.Context(), files("sync.jsonnet", tree)); err == nil || !strings.HasPrefix(err.Error(), "7:1:4: Unexpected") {
			t.Fatalf("error %v", err)
		}
	}
}

// TestCheckEnds stops between two files when the time is over.
func TestCheckEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newEngine().Compile(ctx, script("function(request) 1"))
	if failure := enginetest.AsError(t, err); failure == nil || failure.Kind == engines.Invalid {
		t.Errorf("error %v", err)
	}
}

// TestChain imports 5000 files, each from the one before: they are found, and evaluated as deep as calls may be.
func TestChain(t *testing.T) {
	tree := map[string]string{}
	for i := range 5000 {
		tree[fmt.Sprint(i)] = fmt.Sprintf("{ next:: import '%d', n: %d }", i+1, i)
	}
	tree["5000"] = "{ n: 5000 }"
	tree["sync.jsonnet"] = "local a = import '0'; function(request) std.foldl(function(o, i) o.next, std.range(1, request.depth), a).n"
	program, err := newEngine().Compile(t.Context(), files("sync.jsonnet", tree))
	if err != nil || len(program.Files()) != 5002 {
		t.Fatalf("%v", err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"depth": int64(300)}})
	if err != nil || response.Body != int64(300) {
		t.Errorf("answer %v, error %v", response.Body, err)
	}
}

// TestTooMuchParsed evaluates more than may be kept parsed: the error says so, in place of parsing it for each call.
func TestTooMuchParsed(t *testing.T) {
	tree := map[string]string{"sync.jsonnet": "function(request) [" + strings.Repeat("\n", 2)}
	large := "[" + strings.Repeat("{ a: [1, 2, 3] },\n", 22_000/12) + "]"
	for i := range 6 {
		tree["sync.jsonnet"] += fmt.Sprintf("std.length(import 'large/%d'),\n", i)
		tree[fmt.Sprint("large/", i)] = large
	}
	tree["sync.jsonnet"] += "]"
	const most = maxParsedBytes / 12
	e := engine{stoppable: true, cache: newCacheOf(most)}
	program, err := e.Compile(t.Context(), files("sync.jsonnet", tree))
	if err != nil {
		t.Fatal(err)
	}
	_, err = program.Run(t.Context(), engines.Call{})
	failure := enginetest.AsError(t, err)
	if failure == nil || !strings.Contains(failure.Error(), "the files that are evaluated take more than 8 MiB once they are parsed") || failure.Location.File != "sync.jsonnet" {
		t.Errorf("error %v", failure)
	}
	if bytes := e.CachedBytes(); bytes > most+maxKnownBytes {
		t.Errorf("%d bytes are kept", bytes)
	}
}

// TestParsedBytes compares the estimate with what the heap grows by.
func TestParsedBytes(t *testing.T) {
	for name, text := range map[string]string{
		"functions": "{\n" + strings.Repeat("  '#withName':: d.fn(help='Name of the thing.', args=[d.arg('name', d.T.string)]),\n  withName(name): { metadata+: { name: name } },\n", 1) + "}",
		"data":      `{ "a": [1, 2, "three", { "b": null }] }`,
		"sums":      "function(a, b) [a + b * 2 - 'x', if a then b else -a, a.b.c]",
	} {
		const copies = 4000
		text = "local d = 1, f = [" + strings.Repeat(text+",\n", copies) + "]; f"
		before := liveHeap()
		file, err := parseFile("a", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		grown := liveHeap() - before
		runtime.KeepAlive(file)
		t.Logf("%s: %d bytes of text, %d estimated, %d in the heap", name, len(text), file.bytes, grown)
		if file.bytes < grown/2 || file.bytes > grown*2 {
			t.Errorf("%s: %d bytes are estimated, and the heap has grown by %d", name, file.bytes, grown)
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSharedFiles calls programs at once that share parsed files, none of which has been evaluated before. It is for the race detector.
func TestSharedFiles(t *testing.T) {
	e := newEngine()
	library := "local names = import 'names.libsonnet'; { name(n):: '%s-%03d' % [names.prefix, n], all:: [self.name(n) for n in std.range(1, 3)] + " +
		"[std.format('%(a)s', { a: names.prefix }), importstr 'names.libsonnet', std.extVar('x')], failing:: '%d' % 'x' }"
	var calls sync.WaitGroup
	for revision := range 4 {
		src := files("sync.jsonnet", map[string]string{
			"sync.jsonnet":    fmt.Sprintf("local l = import 'l.libsonnet'; function(request) if request.fail then l.failing else [%d] + l.all", revision),
			"l.libsonnet":     library,
			"names.libsonnet": "{ prefix: 'a' + 'b' }",
		})
		src.Script.Parameters = map[string]any{"x": "y"}
		program, err := e.Compile(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{int64(revision), "ab-001", "ab-002", "ab-003", "ab", "{ prefix: 'a' + 'b' }", "y"}
		for call := range 8 {
			calls.Go(func() {
				response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"fail": call == 0}})
				if failed := err != nil; failed != (call == 0) {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(any(want), response.Body); call != 0 && diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		}
	}
	calls.Wait()
}
