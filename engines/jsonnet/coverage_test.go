package jsonnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// covered calls a script that counts coverage, and returns the points that were reached and missed.
func covered(t *testing.T, src engines.Source, request map[string]any) (reached, missed []string, failure *engines.Error) {
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
		"lazy": {"a local, a field and a function count by what they are", "local used = 1;\nlocal unused = 2;\nlocal f(x) =\n  x + 1;\nfunction(request) {\n  a: used,\n  local b = 3,\n  c:: 4,\n  d: {\n    e: f(1),\n  },\n}",
			[]string{"1:14", "3:7", "4:3", "5:1", "5:19", "6:6", "9:6", "10:8"},
			[]string{"2:16", "7:13", "8:7"}},
		"lines": {"the first expression of each line counts", "function(request)\n  local f(x, y) = x;\n  request.one +\n  f(\n    1,\n    2\n  )", []string{"1:1", "2:9", "2:19", "3:3", "4:3", "5:5"},
			[]string{"6:5"}},
		"if": {"both outcomes, also without else", "function(request) [\n  if request.one == 1 then 1 else 2,\n  if request.one == 2 then\n    3,\n  if request.one == 2 then 1 else if request.one == 3 then 2 else\n    4\n]", []string{"1:1", "1:19", "2:3", "2:3 if 0", "3:3", "3:3 if 1", "5:3", "5:3 if 1", "5:35 if 1", "6:5"},
			[]string{"2:3 if 1", "3:3 if 0", "4:5", "5:3 if 0", "5:35 if 0"}},
		"logical": {"outcome 0 is that the right operand is evaluated", "function(request) [\n  request.no && request.x,\n  request.yes && request.no,\n  request.no || request.yes,\n  request.yes || request.x,\n]", []string{"1:1", "1:19", "2:3", "2:17 && 1", "3:3", "3:18 && 0", "4:3", "4:17 || 0", "5:3", "5:18 || 1"},
			[]string{"2:17 && 0", "3:18 && 1", "4:17 || 1", "5:18 || 0"}},
		"both outcomes": {"of an operator that is evaluated twice", "function(request) [\n  x && true\n  for x in [true, false]]", []string{"1:1", "1:19", "2:3", "2:8 && 0", "2:8 && 1", "3:12"},
			nil},
		"comprehension": {"conditions decide", "function(request)\n  { [k]: 1 for k in ['a', 'b'] if k != 'a' } +\n  { c: [x for x in [1] if x > 0 if x > 1] }", []string{"1:1", "2:3", "2:35 if 0", "2:35 if 1", "2:35", "2:3", "2:10", "3:3", "3:8", "3:27 if 1", "3:36 && 0", "3:27", "3:36"},
			[]string{"3:27 if 0", "3:36 && 1", "3:9"}},
		"assert": {"it holds or fails", "function(request)\n  assert request.one == 1 : 'no';\n  {\n    assert self.a == 1 :\n      'never',\n    a: 1,\n  }", []string{"1:1", "2:3 assert 0", "2:10", "3:3", "4:5", "4:5 assert 0", "6:8"},
			[]string{"2:3 assert 1", "4:5 assert 1", "5:7", "2:29"}},
		"format": {"formats are rewritten, and count as they stand", "function(request) [\n  '%s-%d' % [\n    request.one,\n    2],\n  std.format(\n    '%s',\n    [request.one]\n  ),\n  '%(a)s' %\n    { a: 1 },\n]", []string{"1:1", "1:19", "2:3", "3:5", "4:5", "5:3", "6:5", "7:5", "9:3", "10:5", "10:10"},
			nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			reached, missed, failure := covered(t, script(c.text), map[string]any{"one": int64(1), "yes": true, "no": false})
			if failure != nil {
				t.Fatal(failure)
			}
			if diff := cmp.Diff([][]string{c.reached, c.missed}, [][]string{reached, missed}); diff != "" {
				t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCoverageOfFiles(t *testing.T) {
	src := files("sync.jsonnet", map[string]string{
		"sync.jsonnet":       "local lib = import 'lib/size.libsonnet';\nlocal v = import 'vendor/v.libsonnet';\nlocal data = import 'data.json';\nfunction(request) lib.size(request.one) + v + data.x\n",
		"lib/size.libsonnet": "{\n  size(n)::\n    n,\n  unused()::\n    2,\n}\n",
		"other.jsonnet":      "local size = import 'lib/size.libsonnet';\nsize.size(1)\n",
		"broken.jsonnet":     "{",
		"data.json":          `{"x": 1}`,
		"sync_test.jsonnet":  "{ a: true }",
		"vendor/v.libsonnet": "if true then 1 else 2",
	})
	reached, missed, failure := covered(t, src, map[string]any{"one": int64(1)})
	if failure != nil {
		t.Fatal(failure)
	}
	wantReached := []string{"1:13", "2:11", "3:14", "4:1", "4:19", "lib/size.libsonnet:1:1", "lib/size.libsonnet:3:5"}
	wantMissed := []string{"lib/size.libsonnet:5:5", "other.jsonnet:1:14", "other.jsonnet:2:1"}
	if diff := cmp.Diff([][]string{wantReached, wantMissed}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

func TestCoverageOfFailure(t *testing.T) {
	reached, missed, failure := covered(t, script("function(request)\n  [\n    error 'boom',\n    1,\n  ]"), map[string]any{})
	if failure == nil || failure.Location.Line != 3 {
		t.Errorf("failure %v, want one in line 3", failure)
	}
	if diff := cmp.Diff([][]string{{"1:1", "2:3", "3:5"}, {"4:5"}}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

func TestNoCoverage(t *testing.T) {
	program, err := compile(t, script("function(request) 1"))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.CheckNoCoverage(t, program)
}

// BenchmarkCoverage is BenchmarkRun with and without coverage.
func BenchmarkCoverage(b *testing.B) {
	enginetest.BenchmarkCoverage(b, caller, source(b, enginetest.StatefulSet))
}
