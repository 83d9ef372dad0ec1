package bench

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// library is a generated library as Jsonnet authors use them: groups of versions, which import lazily a file for each kind, with
// functions and their documentation.
type library struct{ groups, kinds, sections int }

const libraryPath = "vendor/k8s/"

// The texts of the library, in which $ stands for numbers and names.
const (
	docUtil = `{
  fn(help, args=[]):: { 'function': { help: help, args: args } },
  obj(help, fields={}):: { object: { help: help, fields: fields } },
  arg(name, type, default=null):: { name: name, type: type, default: default },
  pkg(name, url, help):: { name: name, help: help },
  T:: { string: 'string', array: 'array', object: 'object' },
}
`
	kindStart = `{
  local d = (import '../doc-util/main.libsonnet'),
  '#':: d.pkg(name='kind$', url='', help='"Kind$ enables declarative updates for Pods and ReplicaSets."'),
  '#new':: d.fn(help='new returns an instance of Kind$', args=[d.arg(name='name', type=d.T.string)]),
  new(name): {
    apiVersion: 'example.com/v1',
    kind: 'Kind$',
  } + self.section0.withName(value=name),
`
	sectionStart = `  '#section$':: d.obj(help='"ObjectMeta is metadata that all persisted resources must have, which includes all objects ` +
		`users must create."'),
  section$: {
`
	setter = `    '#with$':: d.fn(help='"$ must be unique within a namespace. Is required when creating resources, although some may allow ` +
		`a client to request it."', args=[d.arg(name='value', type=d.T.string)]),
    with$(value): { `
	mixin = `    '#withItemsMixin':: d.fn(help='"Items are the list of things.\n\n**Note:** This function appends passed data to existing ` +
		`values"', args=[d.arg(name='value', type=d.T.array)]),
    withItemsMixin(value): { spec+: { items+: if std.isArray(v=value) then value else [value] } },
  },
`
	kindEnd = `  '#mixin': 'ignore',
  mixin: self,
}
`
	hookStart = `// $
local k = import 'k8s/main.libsonnet';
function(request) {
  local name = request.parent.metadata.name,
  children: [
`
	hookChild = `    k.$.new(name + '-$') + k.$.section1.withLabels({ app: name })
    + k.$.section2.withItemsMixin([name]),
`
)

func fillIn(text string, values ...any) string {
	for _, value := range values {
		text = strings.Replace(text, "$", fmt.Sprint(value), 1)
	}
	return text
}

// files returns the library's files, and of the kinds only those that are used.
func (l library) files(used func(group, kind int) bool) map[string]string {
	files := map[string]string{libraryPath + "doc-util/main.libsonnet": docUtil}
	main := "{\n"
	for group := range l.groups {
		main += fmt.Sprintf("  g%d:: (import 'g%d/main.libsonnet'),\n", group, group)
		version := "{\n  local d = (import '../doc-util/main.libsonnet'),\n  '#':: d.pkg(name='v1', url='', help=''),\n"
		for kind := range l.kinds {
			if used(group, kind) {
				version += fmt.Sprintf("  kind%d: (import 'kind%d.libsonnet'),\n", kind, kind)
				files[fmt.Sprintf("%sg%d/kind%d.libsonnet", libraryPath, group, kind)] = l.kindFile(kind)
			}
		}
		files[fmt.Sprintf("%sg%d/main.libsonnet", libraryPath, group)] = version + "}\n"
	}
	files[libraryPath+"main.libsonnet"] = main + "}\n"
	return files
}

func (l library) kindFile(kind int) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(kindStart, "$", fmt.Sprint(kind)))
	for section := range l.sections {
		b.WriteString(strings.ReplaceAll(sectionStart, "$", fmt.Sprint(section)))
		for _, field := range []string{"Name", "Namespace", "Generation", "Labels"} {
			path := fmt.Sprintf("spec+: { section%d+: { %s: value } }", section, strings.ToLower(field))
			if section == 0 {
				path = fmt.Sprintf("metadata+: { %s: value }", strings.ToLower(field))
			}
			b.WriteString(strings.ReplaceAll(setter, "$", field) + path + " },\n")
		}
		b.WriteString(mixin)
	}
	return b.String() + kindEnd
}

// hook uses that many kinds of the library, two lines for each, and answers with an object for each.
func (l library) hook(kinds int, variant string) (text string, used map[[2]int]bool) {
	used = map[[2]int]bool{}
	var b strings.Builder
	b.WriteString(fillIn(hookStart, variant))
	for i := range kinds {
		at := [2]int{i % l.groups, i / l.groups}
		used[at] = true
		kind := fmt.Sprintf("g%d.kind%d", at[0], at[1])
		b.WriteString(fillIn(hookChild, kind, i, kind, kind))
	}
	return b.String() + "  ],\n}\n", used
}

func (l library) source(tree map[string]string, hook string) engines.Source {
	files := map[string]string{"sync.jsonnet": hook}
	maps.Copy(files, tree)
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: files, Path: "sync.jsonnet"}}
}

func newJsonnet(tb testing.TB, workers int) engines.Engine {
	tb.Helper()
	pool := sandbox.New(sandbox.Config{Workers: workers})
	tb.Cleanup(pool.Close)
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(standard.Scripts())...)
	if err != nil {
		tb.Fatal(err)
	}
	engine, err := registry.ByName("Jsonnet")
	if err != nil {
		tb.Fatal(err)
	}
	return engine
}

// timed compiles a source and returns how long that took.
func timed(tb testing.TB, engine engines.Engine, src engines.Source) (engines.Program, time.Duration) {
	tb.Helper()
	start := time.Now()
	program, err := engine.Compile(tb.Context(), src)
	if err != nil {
		tb.Fatal(err)
	}
	return program, time.Since(start)
}

var libraryRequest = map[string]any{"parent": map[string]any{"metadata": map[string]any{"name": "web"}}}

func timedCall(tb testing.TB, program engines.Program, children int) time.Duration {
	tb.Helper()
	start := time.Now()
	response, err := program.Run(tb.Context(), engines.Call{Request: libraryRequest, Now: start})
	took := time.Since(start)
	if err != nil {
		tb.Fatal(err)
	}
	body, _ := response.Body.(map[string]any)
	if list, _ := body["children"].([]any); len(list) != children {
		tb.Fatalf("answer %v, want %d children", response.Body, children)
	}
	return took
}

// TestLibrary loads a small one, and checks that the hook uses a tenth of it, whole or cut.
func TestLibrary(t *testing.T) {
	l := library{groups: 2, kinds: 10, sections: 3}
	hook, used := l.hook(2, "first")
	engine := newJsonnet(t, 1)
	for name, tree := range map[string]map[string]string{
		"whole": l.files(func(int, int) bool { return true }),
		"cut":   l.files(func(group, kind int) bool { return used[[2]int{group, kind}] }),
	} {
		program, _ := timed(t, engine, l.source(tree, hook))
		timedCall(t, program, 2)
		if got := len(program.Files()); got != len(tree)+1 {
			t.Errorf("%s: %d files are used, want %d", name, got, len(tree)+1)
		}
	}
}

// BenchmarkEnginesLibrary loads a hook of 100 lines with a library of 5 MB, of which it uses a tenth, in a new worker; loads the hook
// again after an edit, in that worker and in another one; and calls it, in turns with the same hook that has only that tenth.
// Figures are medians, in milliseconds: of time, and for loads of the time that this process and the worker had a processor.
func BenchmarkEnginesLibrary(b *testing.B) {
	l := library{groups: 20, kinds: 25, sections: 6}
	hook, used := l.hook(50, "first")
	whole := l.files(func(int, int) bool { return true })
	cut := l.files(func(group, kind int) bool { return used[[2]int{group, kind}] })
	b.Logf("%d files of %.1f MB, of which %d files of %.1f MB are used by a hook of %d lines",
		len(whole), megabytes(whole), len(cut), megabytes(cut), strings.Count(hook, "\n"))
	times := map[string][]time.Duration{}
	own := map[string][]int{}
	for b.Loop() {
		programs := map[string]engines.Program{}
		for name, tree := range map[string]map[string]string{"whole": whole, "cut": cut} {
			w := newMeter(b)
			engine := newJsonnet(b, 1)
			_, took := timed(b, engine, l.source(tree, hook))
			times["load-"+name] = append(times["load-"+name], took)
			times["cpu-load-"+name] = append(times["cpu-load-"+name], w.cpu(b))
			for n := range 10 {
				edited, _ := l.hook(50, fmt.Sprint("edit ", n))
				programs[name], took = timed(b, engine, l.source(tree, edited))
				times["reload-"+name] = append(times["reload-"+name], took)
				times["cpu-reload-"+name] = append(times["cpu-reload-"+name], w.cpu(b))
			}
			times["first-call-"+name] = append(times["first-call-"+name], timedCall(b, programs[name], 50))
			own[name] = append(own[name], w.largest(b))
		}
		w := newMeter(b)
		w.before = nil
		for range 6 {
			for name, program := range programs {
				w.cpu(b)
				for range callsInTurn {
					times["call-"+name] = append(times["call-"+name], timedCall(b, program, 50))
				}
				times["cpu-call-"+name] = append(times["cpu-call-"+name], w.cpu(b)/callsInTurn)
			}
		}
		times["other-worker"] = append(times["other-worker"], otherWorker(b, l, whole))
	}
	b.ReportMetric(0, "ns/op")
	for name, all := range times {
		b.ReportMetric(median(all).Seconds()*1000, "ms/"+name)
	}
	for name, all := range own {
		b.ReportMetric(float64(median(all))/(1<<20), "MiB/"+name)
	}
}

// callsInTurn is how many calls of a program are made before it is the other one's turn: enough for collections of garbage.
const callsInTurn = 100

// otherWorker loads the library, has its worker end, and loads an edited hook in the next one.
func otherWorker(b *testing.B, l library, whole map[string]string) time.Duration {
	b.Helper()
	engine := newJsonnet(b, 1)
	hook, _ := l.hook(50, "first")
	timed(b, engine, l.source(whole, hook))
	endless, err := engine.Compile(b.Context(), engines.Source{Hook: "sync", Script: &engines.Script{
		Files: map[string]string{"endless.jsonnet": "function(request) std.length(std.range(1, 1e9))"}, Path: "endless.jsonnet",
	}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := endless.Run(b.Context(), engines.Call{Request: map[string]any{}}); err == nil {
		b.Fatal("the worker did not end")
	}
	edited, _ := l.hook(50, "edit")
	_, took := timed(b, engine, l.source(whole, edited))
	return took
}

// BenchmarkEnginesLibraryShapes loads sources of shapes that are hard: it reports time, processor time and the worker's memory, and
// logs the error of those that are refused.
func BenchmarkEnginesLibraryShapes(b *testing.B) {
	for name, tree := range shapes() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := newMeter(b)
				engine := newJsonnet(b, 1)
				start := time.Now()
				_, err := engine.Compile(b.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Files: tree, Path: "sync.jsonnet"}})
				b.Logf("%.1f MB: error %v", megabytes(tree), err)
				b.ReportMetric(time.Since(start).Seconds()*1000, "ms/load")
				b.ReportMetric(w.cpu(b).Seconds()*1000, "ms/cpu-load")
				b.ReportMetric(float64(w.largest(b))/(1<<20), "MiB/own")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func shapes() map[string]map[string]string {
	many := func(files int, text func(n int) string) map[string]string {
		tree := map[string]string{"sync.jsonnet": "{\n"}
		var b strings.Builder
		for n := range files {
			fmt.Fprintf(&b, "  f%d:: import '%d',\n", n, n)
			tree[fmt.Sprint(n)] = text(n)
		}
		tree["sync.jsonnet"] += b.String() + "  sync(request): {} }"
		return tree
	}
	one := library{sections: 6}.kindFile(0)
	chain := many(1, func(int) string { return "{ next:: import '1' }" })
	for n := range 5000 {
		chain[fmt.Sprint(n+1)] = fmt.Sprintf("{ next:: import '%d' }", (n+2)%5001)
	}
	return map[string]map[string]string{
		"one-file-16MiB":    many(1, func(int) string { return "[" + strings.Repeat(one+",\n", (16<<20-1000)/(len(one)+2)) + "]" }),
		"one-file-1MiB":     many(1, func(int) string { return "[" + strings.Repeat(one+",\n", (1<<20)/(len(one)+2)) + "]" }),
		"files-16MiB":       many(1600, func(int) string { return one }),
		"tiny-files-10000":  many(10_000, func(n int) string { return fmt.Sprintf("{ n: %d }", n) }),
		"chain-5000":        chain,
		"not-imported":      {"sync.jsonnet": "function(request) {}", "large": strings.Repeat("x", 15<<20)},
		"deep-brackets":     many(500, func(int) string { return strings.Repeat("[", 490) + strings.Repeat("]", 490) }),
		"deep-operators":    many(500, func(int) string { return strings.Repeat("!", 19_000) + "true" }),
		"deep-conditionals": many(200, func(int) string { return strings.Repeat("if true then ", 6_000) + "1" }),
	}
}

func megabytes(files map[string]string) float64 {
	bytes := 0
	for _, text := range files {
		bytes += len(text)
	}
	return float64(bytes) / 1e6
}
