package cel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// coverageOf calls a script that counts coverage, and returns the points that were reached and missed.
func coverageOf(t *testing.T, src engines.Source, request map[string]any) (reached, missed []string, failure *engines.Error) {
	t.Helper()
	program, err := compile(t, enginetest.WithCoverage(src))
	if err != nil {
		t.Fatal(err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: request})
	reached, missed = enginetest.Points(program, response.Coverage, src.Script.Path)
	return reached, missed, enginetest.AsError(t, err)
}

func TestCoverage(t *testing.T) {
	cases := map[string]struct {
		reason, text    string
		reached, missed []string
	}{
		"lines": {"a part that begins a line counts", "{\n  'a': request.one,\n  'b': 1,\n  'c': [\n    string(one),\n    2],\n}", []string{"1:1", "2:8", "4:8", "5:11"},
			nil},
		"conditional": {"also with constants, and in each other", "one == 1\n  ? (yes ? 1 : 2)\n  : 3", []string{"1:1", "1:1 ?: 0", "2:6", "2:6 ?: 0"},
			[]string{"1:1 ?: 1", "2:6 ?: 1", "3:5"}},
		"conditional on lines": {"variables and selections", "{'a': no ?\n  request.a :\n  request.one, 'b': has(request.x)\n    ? request.x\n    : one + 1}", []string{"1:1", "1:7 ?: 1", "3:3", "3:31", "3:31 ?: 1", "5:7"},
			[]string{"1:7 ?: 0", "2:3", "3:31 ?: 0", "4:7"}},
		"logical": {"outcome 0 is that the right operand is evaluated", "[\n  no && yes,\n  yes && no,\n  no || yes,\n  yes || no,\n]", []string{"1:1", "2:3", "2:16 && 1", "3:3", "3:17 && 0", "4:3", "4:16 || 0", "5:3", "5:17 || 1"},
			[]string{"2:16 && 0", "3:17 && 1", "4:16 || 1", "5:17 || 0"}},
		"both outcomes": {"of an operator that is evaluated twice", "[true, false].map(x, x && yes ? 'a' : 'b')", []string{"1:1", "1:22 ?: 0", "1:22 ?: 1", "1:27 && 0", "1:27 && 1"},
			nil},
		"macros": {"what they become is not the author's", "{\n  'a': [1, 2].filter(x, x > 1 &&\n    x > 2).map(y,\n      y + 1),\n  'b': [1].exists(x, x == 1) ? 1 : 2,\n  'c': [1].all(x, x == 2) && yes,\n  'd': cel.bind(z,\n    one + 1,\n    z > 1 || no),\n}", []string{"1:1", "2:8", "3:5 && 0", "3:5 && 1", "3:5", "5:8", "5:8 ?: 0", "6:8", "6:30 && 1", "7:16", "8:5", "9:5", "9:14 || 1"},
			[]string{"4:7", "5:8 ?: 1", "6:30 && 0", "9:14 || 0"}},
		"in": {"a set of constants", "one in [1, 2]\n  ? (one in [3]\n    ? 'a'\n    : 'b')\n  : 'c'", []string{"1:1", "1:1 ?: 0", "2:6", "2:6 ?: 1", "4:7"},
			[]string{"1:1 ?: 1", "2:6 ?: 0", "3:7", "5:5"}},
		"pattern": {"one that is constant", "'abc'.matches('b') && string(one).matches('x')\n  ? 1 : 2", []string{"1:1", "1:1 ?: 1", "1:29 && 0", "2:9"},
			[]string{"1:1 ?: 0", "1:29 && 1", "2:5"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			reached, missed, failure := coverageOf(t, script(strings.NewReplacer("one", "parent.one", "yes", "parent.yes", "no", "parent.no").Replace(c.text)),
				map[string]any{"parent": map[string]any{"one": int64(1), "yes": true, "no": false}})
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff([][]string{c.reached, c.missed}, [][]string{reached, missed}); diff != "" {
				t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoverageOfDocument checks that places are those in the YAML file, and that other hooks and files count.
func TestCoverageOfDocument(t *testing.T) {
	const document = `variables:
- name: size
  expression: >-
    parent.small ?
      1 :
      parent.size
- {name: unused, expression: "2"}
hooks:
  sync:
    response:
      status: {size: "${variables.size}", text: "a-${parent.small && parent.x}"}
  finalize:
    response:
      finalized: ${parent.small || true}
`
	src := files("sync.cel.yaml", map[string]string{"sync.cel.yaml": document, "other.cel": "{'a':\n  parent.x}", "broken.cel": "{", "values.yaml": "a: 1"})
	reached, missed, failure := coverageOf(t, src, map[string]any{"parent": map[string]any{"small": true, "x": "y"}})
	if failure == nil || failure.Location.Line != 11 {
		t.Errorf("failure %v, want one in line 11, as x is no condition", failure)
	}
	wantReached := []string{"4:5", "4:5 ?: 0", "5:7", "11:34", "11:54", "11:70 && 0"}
	wantMissed := []string{"4:5 ?: 1", "6:7", "7:31", "11:70 && 1", "other.cel:1:1", "other.cel:2:3", "14:20", "14:36 || 0", "14:36 || 1"}
	if diff := cmp.Diff([][]string{wantReached, wantMissed}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

func TestNoCoverage(t *testing.T) {
	program, err := compile(t, script("{}"))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.CheckNoCoverage(t, program)
}

// BenchmarkCoverage is BenchmarkRun with and without coverage.
func BenchmarkCoverage(b *testing.B) {
	enginetest.BenchmarkCoverage(b, caller, source(b, enginetest.StatefulSet))
}
