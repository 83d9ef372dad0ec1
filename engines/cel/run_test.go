package cel

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// TestOrder makes lists of maps, whose order in Go differs from call to call.
func TestOrder(t *testing.T) {
	const literal = `{'c': 1, 'a': 2, 'b': 3, 'f': 4, 'd': 5, 'e': 6}`
	sorted := []any{"a", "b", "c", "d", "e", "f"}
	values := []any{int64(2), int64(3), int64(1), int64(5), int64(6), int64(4)}
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"request":     {"a map of the request", `request.m.map(k, k)`, sorted},
		"values":      {"by key and value", `request.m.transformList(k, v, v)`, values},
		"literal":     {"a map that was written", literal + `.map(k, k)`, sorted},
		"merged":      {"a map that was merged", `merge({}, ` + literal + `).map(k, k)`, sorted},
		"transformed": {"a map that was made", literal + `.transformMap(k, v, v).map(k, k)`, sorted},
		"entries":     {"a map that was made", literal + `.transformMapEntry(k, v, {k: v}).transformList(k, v, v)`, values},
		"filter":      {"some keys", literal + `.filter(k, k < 'd')`, sorted[:3]},
		"numbers":     {"keys by their own order", `{10: 1, 9: 2, 2: 3}.map(k, k)`, []any{int64(2), int64(9), int64(10)}},
		"mixed":       {"keys by the names of their types", `{'b': 1, 1: 2, true: 3, 'a': 4}.map(k, dyn(k))`, []any{true, int64(1), "a", "b"}},
		"format":      {"a map as text", `'%s'.format([` + literal + `])`, "{a: 2, b: 3, c: 1, d: 5, e: 6, f: 4}"},
	}
	request := map[string]any{"m": map[string]any{"c": int64(1), "a": int64(2), "b": int64(3), "f": int64(4), "d": int64(5), "e": int64(6)}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := compile(t, script(c.expression))
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				response, err := program.Run(t.Context(), engines.Call{Request: request})
				if diff := cmp.Diff(c.want, response.Body); err != nil || diff != "" {
					t.Fatalf("error %v, answer (-want +got):\n%s", err, diff)
				}
			}
		})
	}
}

// TestShared runs a document on one request in many goroutines. Under the race
// detector it shows that nothing is written to.
func TestShared(t *testing.T) {
	program, err := compile(t, source(t, enginetest.StatefulSet))
	if err != nil {
		t.Fatal(err)
	}
	request := enginetest.StatefulSetRequest(5, 5, 3)
	before := runtime.DeepCopyJSON(request)
	want, err := enginetest.Reference(enginetest.StatefulSet, request)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	problems := make(chan string, 16)
	for range 16 {
		group.Go(func() {
			response, err := program.Run(t.Context(), engines.Call{Request: request})
			if diff := cmp.Diff(want, response.Body); err != nil || diff != "" {
				problems <- fmt.Sprintf("error %v, answer (-want +got):\n%s", err, diff)
			}
		})
	}
	group.Wait()
	close(problems)
	for problem := range problems {
		t.Error(problem)
	}
	if diff := cmp.Diff(before, request); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
}

func TestUntouchedPartsAreTheSame(t *testing.T) {
	spec := map[string]any{"exact": int64(1<<53 + 1), "float": float64(2), "list": []any{int64(1)}}
	body := answerOf(t, documentOf("response: {spec: '${parent.spec}', list: '${parent.spec.list}'}"), map[string]any{"parent": map[string]any{"spec": spec}})
	got := body.(map[string]any)
	if diff := cmp.Diff(map[string]any{"spec": spec, "list": spec["list"]}, got); diff != "" {
		t.Errorf("what was not touched came back changed (-want +got):\n%s", diff)
	}
	spec["float"] = "changed"
	if got["spec"].(map[string]any)["float"] != "changed" {
		t.Error("what was not touched came back as a copy")
	}
}

func TestParameters(t *testing.T) {
	src := script(`[parameters.n, request.parameters.n, request.a, has(parameters.none)]`)
	src.Script.Parameters = map[string]any{"n": int64(1)}
	request := map[string]any{"a": "b"}
	if diff := cmp.Diff(any([]any{int64(1), int64(1), "b", false}), answerOf(t, src, request)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": "b"}, request); diff != "" {
		t.Errorf("the request was changed (-want +got):\n%s", diff)
	}
}

// TestVariablesAreEvaluatedOnce has a variable that takes more than a tenth of what
// a call may, and is asked for in twenty places.
func TestVariablesAreEvaluatedOnce(t *testing.T) {
	text := "variables: [{name: a, expression: 'lists.range(11).all(a, lists.range(100000).size() > 0)'}]\nresponse:\n"
	want := []any{}
	for range 20 {
		text += "- ${variables.a}\n"
		want = append(want, true)
	}
	if diff := cmp.Diff(any(want), answerOf(t, documentOf(text), map[string]any{})); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestDeadlineInVariable(t *testing.T) {
	never := source(t, enginetest.Never).Script
	src := documentOf("variables:\n- {name: a, expression: \"" + never.Files[never.Path] + "\"}\nresponse: ${variables.a || true}")
	_, failure := run(t, src, map[string]any{}, 50*time.Millisecond)
	checkFailure(t, failure, engines.Timeout, "sync.cel.yaml:2:")
	if failure != nil && len(failure.Stack) != 2 {
		t.Errorf("stack %q, want the variable and the response", failure.Stack)
	}
}
