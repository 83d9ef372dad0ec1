package lsp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

const folder = `
-- kustomization.yaml --
resources: [crd.yaml, controller.yaml]
configMapGenerator:
- {name: hooks, files: [sync.js], options: {disableNameSuffixHash: true}}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  names: {kind: App, plural: apps, singular: app, listKind: AppList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              image: {type: string, description: The image to run.}
              replicas: {type: integer, description: How many Pods there are.}
          status: {type: object, properties: {ready: {type: integer}}}
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: apps}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: apps}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  scriptSources:
  - configMap: {namespace: default, name: hooks}
  hooks:
    sync: {version: v2, script: {path: sync.js}}
-- sync.js --
import { childKey } from "libretto";

export function sync({ parent, children }) {
  const known = children["ConfigMap.v1"];
  return {
    status: { ready: Object.keys(known).length },
    children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: parent.metadata.name }, data: { image: parent.spec.image } }],
  };
}
-- inline/controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: inline}
spec:
  resources: [{apiVersion: apps/v1, resource: deployments}]
  attachments: [{apiVersion: v1, resource: services}]
  hooks:
    sync:
      version: v2
      script:
        engine: JavaScript
        inline: |
          export function sync({ object }) {
            return { annotations: { replicas: String(object.spec.replicas) } };
          }
-- apps_test.yaml --
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given:
- {apiVersion: example.com/v1, kind: App, metadata: {name: a}, spec: {image: nginx}}
cases:
- name: it has the image
  want:
    children: [{apiVersion: v1, kind: ConfigMap, data: {image: nginx}}]
- name: it has another image
  from: {case: it has the image}
  want:
    children: [{apiVersion: v1, kind: ConfigMap, data: {image: redis}}]
`

// editor is a client, with the diagnostics that it was sent.
type editor struct {
	protocol.UnimplementedClient
	t       testing.TB
	server  protocol.Server
	folder  string
	sent    chan *protocol.PublishDiagnosticsParams
	shown   chan string
	current map[uri.URI][]protocol.Diagnostic
	version int32
}

func (e *editor) PublishDiagnostics(_ context.Context, p *protocol.PublishDiagnosticsParams) error {
	e.sent <- p
	return nil
}

func (e *editor) ShowMessage(_ context.Context, p *protocol.ShowMessageParams) error {
	e.shown <- p.Message
	return nil
}

// startEditor starts the command for a folder, and returns an editor that is connected to it, and what waits for the end of the command.
func startEditor(t testing.TB, folder string) (e *editor, wait func() int) {
	t.Helper()
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		w := cli.Process{Args: []string{"lsp"}, Getenv: func(string) string { return "" }, Stdin: toServer, Stdout: fromServer, Stderr: io.Discard}
		ended <- program.Execute(context.Background(), w)
		fromServer.Close()
	}()
	e = &editor{
		t: t, folder: folder, sent: make(chan *protocol.PublishDiagnosticsParams, 100), shown: make(chan string, 10),
		current: map[uri.URI][]protocol.Diagnostic{},
	}
	_, _, e.server = protocol.NewClient(context.Background(), e, jsonrpc2.NewStream(pipes{toEditor, fromEditor}))
	params := &protocol.InitializeParams{}
	params.WorkspaceFolders = protocol.NewNullable([]protocol.WorkspaceFolder{{URI: uri.File(folder), Name: "folder"}})
	result, err := e.server.Initialize(t.Context(), params)
	if err != nil || result.ServerInfo.Name != "libretto" {
		t.Fatal(result, err)
	}
	if err := e.server.Initialized(t.Context(), &protocol.InitializedParams{}); err != nil {
		t.Fatal(err)
	}
	return e, func() int {
		select {
		case code := <-ended:
			return code
		case <-time.After(time.Minute):
			t.Fatal("the command does not end")
			return -1
		}
	}
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

func (e *editor) uri(name string) uri.URI { return uri.File(filepath.Join(e.folder, name)) }

func (e *editor) open(name, text string) {
	e.t.Helper()
	document := protocol.TextDocumentItem{URI: e.uri(name), Version: 1, Text: text}
	if err := e.server.DidOpen(e.t.Context(), &protocol.DidOpenTextDocumentParams{TextDocument: document}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) change(name, text string) {
	e.t.Helper()
	e.version++
	params := &protocol.DidChangeTextDocumentParams{ContentChanges: []protocol.TextDocumentContentChangeEvent{
		&protocol.TextDocumentContentChangeWholeDocument{Text: text},
	}}
	params.TextDocument.URI, params.TextDocument.Version = e.uri(name), e.version
	if err := e.server.DidChange(e.t.Context(), params); err != nil {
		e.t.Fatal(err)
	}
}

// until waits until the diagnostics of a file are so many, and returns them.
func (e *editor) until(name string, n int) []protocol.Diagnostic {
	e.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case p := <-e.sent:
			e.current[p.URI] = p.Diagnostics
		case <-timeout:
			e.t.Fatalf("%s has not %d diagnostics, but %v", name, n, texts(e.current[e.uri(name)]))
		}
		if len(e.current[e.uri(name)]) == n && len(e.sent) == 0 {
			return e.current[e.uri(name)]
		}
	}
}

// settle waits until the last change was checked: a mistake is made in a file, and mended.
func (e *editor) settle() {
	e.t.Helper()
	e.change("controller.yaml", "a: b: c")
	e.until("controller.yaml", 1)
	text, err := os.ReadFile(filepath.Join(e.folder, "controller.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	e.change("controller.yaml", string(text))
	e.until("controller.yaml", 0)
}

func texts(all []protocol.Diagnostic) []string {
	var texts []string
	for _, d := range all {
		code, _ := d.Code.(protocol.String)
		message, _ := d.Message.(protocol.String)
		first, _, _ := strings.Cut(string(message), "\n")
		texts = append(texts, string(code)+": "+first)
	}
	return texts
}

// at returns the position of the ^ in a text, and the text without it.
func at(e *editor, name, marked string) (string, protocol.TextDocumentPositionParams) {
	before, _, _ := strings.Cut(marked, "^")
	p := protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri(name)}}
	p.Position.Line = uint32(strings.Count(before, "\n"))
	p.Position.Character = uint32(len(before) - strings.LastIndex(before, "\n") - 1)
	return strings.Replace(marked, "^", "", 1), p
}

// completions returns what may be written at the ^.
func (e *editor) completions(name, marked string) []string {
	e.t.Helper()
	text, place := at(e, name, marked)
	e.change(name, text)
	result, err := e.server.Completion(e.t.Context(), &protocol.CompletionParams{TextDocumentPositionParams: place})
	if err != nil {
		e.t.Fatal(err)
	}
	var labels []string
	switch items := result.(type) {
	case protocol.CompletionItemSlice:
		for _, item := range items {
			labels = append(labels, item.Label)
		}
	default:
		e.t.Fatalf("completion returns a %T", result)
	}
	return labels
}

func (e *editor) hover(name, marked string) string {
	e.t.Helper()
	text, place := at(e, name, marked)
	e.change(name, text)
	result, err := e.server.Hover(e.t.Context(), &protocol.HoverParams{TextDocumentPositionParams: place})
	if err != nil {
		e.t.Fatal(err)
	}
	if result == nil {
		return ""
	}
	return result.Contents.(*protocol.MarkupContent).Value
}

func (e *editor) definition(name, marked string) string {
	e.t.Helper()
	text, place := at(e, name, marked)
	e.change(name, text)
	result, err := e.server.Definition(e.t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: place})
	if err != nil {
		e.t.Fatal(err)
	}
	switch found := result.(type) {
	case protocol.LocationSlice:
		for _, l := range found {
			return filepath.Base(pathOf(l.URI)) + ":" + string(rune('0'+l.Range.Start.Line))
		}
	case *protocol.Location:
		return filepath.Base(pathOf(found.URI)) + ":" + string(rune('0'+found.Range.Start.Line))
	}
	return ""
}

// TestSession is a session of an editor.
func TestSession(t *testing.T) {
	directory := t.TempDir()
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(folder)).Files {
		files[f.Name] = string(f.Data)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(directory, f.Name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, wait := startEditor(t, directory)
	script, definition, tests := files["sync.js"], files["controller.yaml"], files["apps_test.yaml"]

	mistyped := strings.Replace(script, "parent.spec.image", "parent.spec.imge", 1)
	e.open("sync.js", mistyped)
	got := e.until("sync.js", 2) // The import is not used, too.
	want := []string{
		"UnusedImport: CompositeController apps: childKey is imported and not used: leave it out",
		"SchemaMismatch: parent.spec.imge: there is no such field: did you mean image?",
	}
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if link := string(got[1].CodeDescription.Href); !strings.HasSuffix(link, "check-and-render.md#scripts-against-schemas") {
		t.Errorf("the link is %s", link)
	}
	t.Run("quick fix", func(t *testing.T) {
		params := &protocol.CodeActionParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("sync.js")}}
		params.Context.Diagnostics = got
		actions, err := e.server.CodeAction(t.Context(), params)
		if err != nil || len(actions) != 1 {
			t.Fatal(actions, err)
		}
		edit := actions[0].(*protocol.CodeAction).Edit.Changes[e.uri("sync.js")][0]
		line := strings.Split(mistyped, "\n")[edit.Range.Start.Line]
		if was := line[edit.Range.Start.Character:edit.Range.End.Character]; was != "imge" || edit.NewText != "image" {
			t.Errorf("%q becomes %q", was, edit.NewText)
		}
	})
	e.change("sync.js", script)
	e.until("sync.js", 1)

	restore := func() {
		for name, text := range files {
			e.change(name, text)
		}
		e.settle()
	}
	t.Run("a script in YAML", func(t *testing.T) { testInline(t, e, files["inline/controller.yaml"]) })
	t.Run("completion", func(t *testing.T) { testCompletions(t, e, completionsInScript(script)) })
	t.Run("completion in YAML", func(t *testing.T) { testCompletions(t, e, completionsInYAML(definition, tests)) })
	restore()
	t.Run("hover", func(t *testing.T) { testHovers(t, e, script, definition, tests) })
	restore()
	t.Run("definition", func(t *testing.T) { testDefinitions(t, e, definition, tests) })
	restore()
	t.Run("tests", func(t *testing.T) { testTests(t, e) })

	if err := e.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.server.Exit(t.Context()); err != nil {
		t.Error(err)
	}
	if code := wait(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}

// completion is what is completed at the ^ of a text.
type completion struct {
	file, text string
	want       []string
	// isPart is set if there is more.
	isPart bool
}

// testInline checks that a script in YAML is one, at its place.
func testInline(t *testing.T, e *editor, definition string) {
	const file = "inline/controller.yaml"
	e.open(file, strings.Replace(definition, "spec.replicas", "spec.replcas", 1))
	found := e.until(file, 1)
	want := []string{"SchemaMismatch: object.spec.replcas: there is no such field: did you mean replicas?"}
	if diff := cmp.Diff(want, texts(found)); diff != "" || found[0].Range.Start.Line != 13 {
		t.Errorf("in line %d, -want +got:\n%s", found[0].Range.Start.Line, diff)
	}
	if got := e.completions(file, strings.Replace(definition, "spec.replicas", "spec.^", 1)); !slices.Contains(got, "minReadySeconds") {
		t.Errorf("fields of a Deployment: %v", got)
	}
	if got := e.hover(file, strings.Replace(definition, "spec.replicas", "spec.rep^licas", 1)); !strings.HasPrefix(got, "`replicas`: an integer\n\nNumber of desired pods.") {
		t.Errorf("a field of a Deployment: %q", got)
	}
	e.change(file, definition)
	e.until(file, 0)
}

func completionsInScript(script string) map[string]completion {
	in := func(old, other string) string { return strings.Replace(script, old, other, 1) }
	return map[string]completion{
		"a field of the parent": {file: "sync.js", text: in("parent.spec.image", "parent.spec.^"), want: []string{"image", "replicas"}},
		"what is written of it": {file: "sync.js", text: in("parent.spec.image", "parent.spec.im^"), want: []string{"image", "replicas"}},
		"a group of children":   {file: "sync.js", text: in(`children["ConfigMap.v1"]`, `children["^"]`), want: []string{"ConfigMap.v1"}},
		"a field of the status": {file: "sync.js", text: in("{ ready: ", "{ ^ready: "), want: []string{"ready"}},
		"a function":            {file: "sync.js", text: in("{ childKey }", "{ child^ }"), want: []string{"childKey", "findChild"}, isPart: true},
	}
}

func completionsInYAML(definition, tests string) map[string]completion {
	const file = "controller.yaml"
	in := func(old, other string) string { return strings.Replace(definition, old, other, 1) }
	return map[string]completion{
		"a field of a definition": {file: file, text: in("  hooks:", "  resync^\n  hooks:"), want: []string{"hooks", "resyncPeriodSeconds"}, isPart: true},
		"a method":                {file: file, text: in("method: InPlace", "method: ^"), want: []string{"InPlace", "RollingRecreate"}, isPart: true},
		"a resource":              {file: file, text: in("resource: configmaps", "resource: ^"), want: []string{"configmaps", "pods"}, isPart: true},
		"a resource of a CRD":     {file: file, text: in("resource: apps", "resource: ^"), want: []string{"apps"}},
		"a file":                  {file: file, text: in("path: sync.js", "path: ^"), want: []string{"sync.js"}, isPart: true},
		"a field of a case":       {file: "apps_test.yaml", text: tests + "  sk^", want: []string{"skip", "steps"}, isPart: true},
		"a case":                  {file: "apps_test.yaml", text: strings.Replace(tests, "{case: it has the image}", "{case: ^", 1), want: []string{"it has the image"}},
	}
}

func testCompletions(t *testing.T, e *editor, cases map[string]completion) {
	for reason, c := range cases {
		t.Run(reason, func(t *testing.T) {
			got := e.completions(c.file, c.text)
			if c.isPart {
				got = slices.DeleteFunc(got, func(label string) bool { return !slices.Contains(c.want, label) })
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func testHovers(t *testing.T, e *editor, script, definition, tests string) {
	for reason, c := range map[string]struct{ file, text, want string }{
		"a field of the parent":   {"sync.js", strings.Replace(script, "parent.spec.image", "parent.spec.im^age", 1), "`image`: a string\n\nThe image to run."},
		"a field of the request":  {"sync.js", strings.Replace(script, "{ parent, children }", "{ parent, chil^dren }", 1), "`children`: an object\n\nchildren are the parent's children"},
		"a field of metadata":     {"sync.js", strings.Replace(script, "parent.metadata.name", "parent.metadata.na^me", 1), "`name`: a string\n\nName must be unique"},
		"a function":              {"sync.js", strings.Replace(script, "{ childKey }", "{ child^Key }", 1), "```typescript\nchildKey("},
		"a field of a definition": {"controller.yaml", strings.Replace(definition, "generateSelector", "generate^Selector", 1), "`generateSelector`: a boolean"},
		"a field of a test":       {"apps_test.yaml", strings.Replace(tests, "given:", "gi^ven:", 1), "`given`: a list\n\ngiven are objects"},
		"a word":                  {"sync.js", strings.Replace(script, "return", "re^turn", 1), ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := e.hover(c.file, c.text); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func testDefinitions(t *testing.T, e *editor, definition, tests string) {
	for reason, c := range map[string]struct{ file, text, want string }{
		"a script":        {"controller.yaml", strings.Replace(definition, "path: sync.js", "path: sy^nc.js", 1), "sync.js:0"},
		"a hook":          {"controller.yaml", strings.Replace(definition, "    sync:", "    sy^nc:", 1), "sync.js:2"},
		"a case":          {"apps_test.yaml", strings.Replace(tests, "{case: it has", "{case: it ^has", 1), "apps_test.yaml:5"},
		"nothing of that": {"controller.yaml", strings.Replace(definition, "InPlace", "In^Place", 1), ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := e.definition(c.file, c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func testTests(t *testing.T, e *editor) {
	document := protocol.TextDocumentIdentifier{URI: e.uri("apps_test.yaml")}
	symbols, err := e.server.DocumentSymbol(t.Context(), &protocol.DocumentSymbolParams{TextDocument: document})
	if err != nil || len(symbols.(protocol.DocumentSymbolSlice)) != 2 {
		t.Fatal(symbols, err)
	}
	lenses, err := e.server.CodeLens(t.Context(), &protocol.CodeLensParams{TextDocument: document})
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, l := range lenses {
		titles = append(titles, l.Command.Title)
	}
	if diff := cmp.Diff([]string{"run all", "run this case", "run this case"}, titles); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	run := func(lens int) (r test.JSONReport) {
		command := lenses[lens].Command
		result, err := e.server.ExecuteCommand(t.Context(), &protocol.ExecuteCommandParams{Command: command.Command, Arguments: command.Arguments})
		if err == nil {
			err = json.Unmarshal(result, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		<-e.shown
		return r
	}
	if r := run(1); r.Passed != 1 || r.Failed != 0 {
		t.Errorf("the first case: %+v", r)
	}
	if r := run(0); r.Passed != 1 || r.Failed != 1 {
		t.Errorf("all cases: %+v", r)
	}
	failed := e.until("apps_test.yaml", 1)
	if !strings.HasPrefix(texts(failed)[0], "failed: it has another image: ") || failed[0].Range.Start.Line != 8 {
		t.Errorf("%v in line %d", texts(failed), failed[0].Range.Start.Line)
	}
}
