package lsp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// TestDebounce checks that a text is checked once nothing more is typed, and that the last one is.
func TestDebounce(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, folder: t.TempDir(), sent: make(chan *protocol.PublishDiagnosticsParams, 10)}
	clock := clocktesting.NewFakeClock(time.Now())
	s := newServer(t.Context(), cli.Process{}, registry, manifest.Options{}, e, clock)
	e.server = s
	const header = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n"
	e.open("a_test.yaml", header)
	clock.Step(debounce / 2)
	e.change("a_test.yaml", header+"cases: [{nme: x}]\n")
	clock.Step(debounce / 2)
	s.running.Wait()
	if len(e.sent) != 0 {
		t.Fatal("it is checked while something is typed")
	}
	clock.Step(debounce / 2)
	s.running.Wait()
	if len(e.sent) != 1 {
		t.Fatalf("%d messages are sent, want one", len(e.sent))
	}
	want := []string{"Invalid: cases[0] has no name", "Invalid: cases[0] has no field nme: did you mean name?"}
	if diff := cmp.Diff(want, texts((<-e.sent).Diagnostics)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	e.change("a_test.yaml", header+"cases: [{name: x, want: {counts: {Pod: 1}}}]\n")
	clock.Step(debounce)
	s.running.Wait()
	if len(e.sent) != 1 || len((<-e.sent).Diagnostics) != 0 {
		t.Error("what was mended is still shown")
	}
}

// TestOrder checks that what is left of a check that was given up is checked by the next.
func TestOrder(t *testing.T) {
	s := newServer(t.Context(), cli.Process{}, nil, manifest.Options{}, &editor{}, clocktesting.NewFakeClock(time.Now()))
	life, end := context.WithCancel(t.Context())
	s.life = life
	s.edited["/a"] = true
	end()
	s.check()
	if !s.edited["/a"] {
		t.Error("the file is forgotten")
	}
}

// TestBoundary checks that nothing is read outside of a repository by what its files name.
func TestBoundary(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"secret/a.js": "export function sync() {}", "repository/.git/config": "", "repository/a_test.yaml": `apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
scripts: {default/hooks: ../secret}
cases: [{name: a}]
`,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &project{folder: filepath.Join(root, "repository")}
	s := newServer(t.Context(), cli.Process{}, nil, manifest.Options{}, &editor{}, clocktesting.NewFakeClock(time.Now()))
	if _, err := s.load(t.Context(), p); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("the folder is loaded with what lies beside the repository: %v", err)
	}
	s.options.ScriptsDir = root
	if _, err := s.load(t.Context(), p); err != nil {
		t.Errorf("what was named on the command line: %v", err)
	}
}

// TestCorrection checks what a finding proposes, and what it replaces.
func TestCorrection(t *testing.T) {
	const script = "function sync({ parent }) {\n  return parent.spec.imge + parent.spec.image;\n}"
	for reason, c := range map[string]struct {
		text    string
		line    int
		message string
		want    string
	}{
		"a field of a path":               {script, 1, "parent.spec.imge: there is no such field: did you mean image?", "1:21-25 image"},
		"a word in quotes":                {"spec:\n  parentResource:\n    apiVersion: v1\n    resource: pod", 1, `spec.parentResource: there is no resource "pod" in "v1": did you mean pods?`, "3:14-17 pods"},
		"nothing is proposed":             {script, 1, "parent.spec.imge: there is no such field: there are a, b", ""},
		"what is meant is not there":      {"a: b", 0, "xyz: did you mean xyy?", ""},
		"an unknown field":                {"apiVersion: metacontroller.k8s.io/v1alpha1\nkind: MapController\nspec:\n  inputResorces: []", 3, "MapController a: unknown field spec.inputResorces", "3:2-15 inputResources"},
		"an unknown field like no":        {"apiVersion: metacontroller.k8s.io/v1alpha1\nkind: MapController\nspec:\n  xyz: []", 3, "MapController a: unknown field spec.xyz", ""},
		"a character of two UTF-16 units": {"a: 😀 imge", 0, `"imge": did you mean image?`, "0:6-10 image"},
	} {
		t.Run(reason, func(t *testing.T) {
			at, meant := correction(newText(c.text), c.line, c.message)
			got := ""
			if meant != "" {
				got = strings.TrimSpace(describeRange(at) + " " + meant)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func describeRange(r protocol.Range) string {
	return strings.Join([]string{number(r.Start.Line), ":", number(r.Start.Character), "-", number(r.End.Character)}, "")
}

func number(n uint32) string {
	if n > 9 {
		return number(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

// TestRanges checks what is marked of a line.
func TestRanges(t *testing.T) {
	lines := newText("  a.b: c-d \"e\"\n\tx😀y z")
	for want, at := range map[string]engines.Location{
		"0:2-14": {Line: 1}, "0:7-10": {Line: 1, Column: 8}, "0:11-14": {Line: 1, Column: 12}, "1:4-5": {Line: 2, Column: 4}, "8:0-0": {Line: 9},
	} {
		if got := describeRange(lines.rangeOf(at)); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
	for _, c := range []struct{ units, bytes int }{{0, 0}, {1, 1}, {2, 2}, {4, 6}, {5, 7}, {99, 9}} {
		if _, got := lines.offset(protocol.Position{Line: 1, Character: uint32(c.units)}); got != c.bytes {
			t.Errorf("%d units are %d bytes, want %d", c.units, got, c.bytes)
		}
	}
}

// TestPathsFrom checks that folders and files are offered as they are written on.
func TestPathsFrom(t *testing.T) {
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	got := pathsFrom(filepath.Dir(filepath.Dir(folder)), "lsp/server")
	if len(got) == 0 || !strings.HasPrefix(got[0], "lsp/") {
		t.Errorf("got %v", got)
	}
	if got := pathOf(uri.File(folder)); got != folder {
		t.Errorf("%s becomes %s", folder, got)
	}
}

// TestHookLine checks where a script has the function of a hook.
func TestHookLine(t *testing.T) {
	for _, text := range []string{
		"// sync\nexport function sync(request) {", "\nexport async function sync({ parent }) {", "\nexport const sync = (r) => ({})", "\n  sync(request):: {",
		"\nfunction sync(request) {", "\n  sync: function(request) {}", "\nlocal sync(request) = {};",
	} {
		line, start, end, ok := hookLine(newText(text), "sync")
		if !ok || line != 1 || newText(text)[1][start:end] != "sync" {
			t.Errorf("%q: line %d, %v", text, line, ok)
		}
	}
	if _, _, _, ok := hookLine(newText("a.sync(b)\nresync(c)"), "sync"); ok {
		t.Error("a call is taken for the function")
	}
}

// TestLibrary checks that the declarations are understood.
func TestLibrary(t *testing.T) {
	all := library()
	if len(all) < 20 {
		t.Fatalf("%d functions", len(all))
	}
	for _, f := range all {
		if f.doc == "" || !strings.HasPrefix(f.signature, f.name) {
			t.Errorf("%+v", f)
		}
	}
	if got := docOf("CompositeRequest", "parent"); got != "parent is the parent, with its status." {
		t.Errorf("parent: %q", got)
	}
}
