package cel

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestFailures(t *testing.T) {
	cases := map[string]struct {
		reason string
		src    engines.Source
		kind   engines.Kind
		want   string
		stack  []string
	}{
		"missing field": {"the place is that of the field", script("{\n  'a': request.parent.spec.foo}"), engines.Failed,
			"sync.cel:2:27: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at sync (sync.cel:2:27)"}},
		"missing object": {"the place is that of the index", script("1 < 2 ?\n  children['Pod.v1']['none'].metadata : {}"), engines.Failed,
			"sync.cel:2:29: no such key: none: if it may be missing, write x.?none.orValue(DEFAULT)", []string{"at sync (sync.cel:2:29)"}},
		"missing in a loop": {"the place is that of the field", script("[1, 2].map(i,\n  parent.spec.foo)"), engines.Failed,
			"sync.cel:2:14: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at sync (sync.cel:2:14)"}},
		"missing variable": {"which requests have what is not known at load", script("object.metadata"), engines.Failed,
			"sync.cel:1:7: the request has no object: it has children, finalizing, parent, related", []string{"at sync (sync.cel:1:7)"}},
		"wrong type": {"types that are not known at load", script("'a' +\n parent.spec.replicas"), engines.Failed,
			"sync.cel:1:5: no such overload: the values around + are of types that do not go together: convert one of them, as in string(x), int(x) or double(x)", []string{"at sync (sync.cel:1:5)"}},
		"division": {"as in any language", script("1 / (parent.spec.replicas - 3)"), engines.Failed,
			"sync.cel:1:3: division by zero", []string{"at sync (sync.cel:1:3)"}},
		"overflow": {"numbers have an end", script("parent.spec.replicas + 9223372036854775807"), engines.Failed,
			"sync.cel:1:22: integer overflow", []string{"at sync (sync.cel:1:22)"}},
		"fail": {"a hook says itself what is wrong", script("parent.spec.replicas < 5 ? fail('at least ' + string(5)) : {}"), engines.Failed,
			"sync.cel:1:32: at least 5", []string{"at sync (sync.cel:1:32)"}},
		"hole": {"the place is in the document", documentOf("response:\n  a:\n  - 1\n  - |\n    ${ 1 +\n      parent.spec.foo }"), engines.Failed,
			"sync.cel.yaml:6:18: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at response.a[1] (sync.cel.yaml:6:18)"}},
		"variable": {"the stack says who asked", documentOf("variables:\n- {name: a, expression: parent.spec.foo}\n- {name: b, expression: '1 + variables.a'}\nresponse:\n  x: ${[variables.b]}"), engines.Failed,
			"sync.cel.yaml:2:36: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at variables.a (sync.cel.yaml:2:36)", "at variables.b (sync.cel.yaml:3:39)", "at response.x (sync.cel.yaml:5:18)"}},
		"key": {"keys fail as well", documentOf("response:\n  a: {'${parent.spec.foo}': 1}"), engines.Failed,
			"sync.cel.yaml:2:21: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at response.a (sync.cel.yaml:2:21)"}},
		"no text": {"types that are not known at load", documentOf("response: {a: 'x${dyn([])}'}"), engines.Failed,
			"sync.cel.yaml:1:19: gives a value of type list, which can't be part of a text: a hole gives any value where it is all of its field", []string{"at response.a (sync.cel.yaml:1:19)"}},
		"range": {"a long list is refused before it is made", script("lists.range(100001)"), engines.Failed,
			"sync.cel:1:12: lists.range(100001): at most 100000", []string{"at sync (sync.cel:1:12)"}},
		"distinct": {"a long list would be compared each with each", script("lists.range(1001).distinct()"), engines.Failed,
			"sync.cel:1:27: distinct(): the list has 1001 elements, and may have 1000", []string{"at sync (sync.cel:1:27)"}},
		"inserted twice": {"which of the two is not known", script("[1, 2].transformMapEntry(i, v, {'a': v})"), engines.Failed,
			"sync.cel:1:25: insert failed: key a already exists", []string{"at sync (sync.cel:1:25)"}},
		"cost": {"a hook goes through so much", script("lists.range(101).all(a, lists.range(100000).size() > 0)"), engines.Exhausted,
			"sync.cel:1:1: costs more than the 10000000 that a call may: go through shorter lists", []string{"at sync (sync.cel:1:1)"}},
		"doubling": {"sums of lists are not copied, and could grow beyond all bounds", script(doubled(30)), engines.Exhausted,
			"sync.cel:1:1: costs more than the 10000000 that a call may: go through shorter lists", []string{"at sync (sync.cel:1:1)"}},
		"doubled text": {"texts are copied, and charged", script(strings.Replace(doubled(30), "[1]", "string(finalizing)", 1)), engines.Exhausted,
			"sync.cel:1:1: costs more than the 10000000 that a call may: go through shorter lists", []string{"at sync (sync.cel:1:1)"}},
		"branch": {"the place is within the branch", script("finalizing ? {} :\n  parent.spec.foo"), engines.Failed,
			"sync.cel:2:14: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", []string{"at sync (sync.cel:2:14)"}},
		"step": {"the place is within the step", script("[1, 2].map(i,\n  1 / (i - 1))"), engines.Failed,
			"sync.cel:2:5: division by zero", []string{"at sync (sync.cel:2:5)"}},
		"cost absorbed": {"a limit is no error that || may absorb", script("true || lists.range(101).all(a, lists.range(100000).size() > 0)"), engines.Failed, "", nil},
		"cost of a variable": {"nor does a variable's", documentOf("variables: [{name: a, expression: 'lists.range(101).all(a, lists.range(100000).size() > 0)'}]\nresponse: ${variables.a || true}"), engines.Exhausted,
			"sync.cel.yaml:1:36: costs more than the 10000000 that a call may: go through shorter lists", []string{"at variables.a (sync.cel.yaml:1:36)", "at response (sync.cel.yaml:2:13)"}},
		"cost of several": {"what one call costs is added up", documentOf("variables:\n- {name: a, expression: 'lists.range(35).all(a, lists.range(100000).size() > 0)'}\n- {name: b, expression: 'lists.range(35).all(a, lists.range(100000).size() > 0)'}\n- {name: c, expression: 'lists.range(35).all(a, lists.range(100000).size() > 0)'}\nresponse: ['${variables.a}', '${variables.b}', '${variables.c}', '${1}']"), engines.Exhausted,
			"sync.cel.yaml:4:26: costs more than the 10000000 that a call may: go through shorter lists", []string{"at variables.c (sync.cel.yaml:4:26)", "at response[2] (sync.cel.yaml:5:51)"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, failure := run(t, c.src, parentRequest(), time.Minute)
			if c.want == "" {
				if failure != nil {
					t.Errorf("error %v, want none", failure)
				}
				return
			}
			checkFailure(t, failure, c.kind, c.want)
			if failure != nil {
				if diff := cmp.Diff(c.stack, failure.Stack); diff != "" {
					t.Errorf("stack (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func checkFailure(t *testing.T, failure *engines.Error, kind engines.Kind, want string) {
	t.Helper()
	if failure == nil || failure.Kind != kind || !strings.HasPrefix(failure.Error(), want) {
		t.Errorf("error\n%v, want one of kind %s that starts with\n%s", failure, kind.Reason(), want)
	}
}

func TestBadResponses(t *testing.T) {
	cases := map[string]struct {
		reason string
		src    engines.Source
		kind   engines.Kind
		want   string
	}{
		"type":           {"types are no JSON", script("{'children': [1, {'a b': type(1)}]}"), engines.BadResponse, `sync.cel:1:1: children[1]["a b"]: is the type int, which JSON does not have`},
		"format":         {"nor are formats", script("{'a': format.uuid()}"), engines.BadResponse, "sync.cel:1:1: a: is of type kubernetes.NamedFormat, which JSON does not have"},
		"key":            {"keys are texts", script("{'a': {1: 'x'}}"), engines.BadResponse, "sync.cel:1:1: a: has a key of type int, and fields of JSON have texts: use string()"},
		"unsigned":       {"Kubernetes has int64", script("[9223372036854775808u]"), engines.BadResponse, "sync.cel:1:1: [0]: is 9223372036854775808, more than the largest whole number that Kubernetes stores"},
		"infinite":       {"JSON has no such number", script("{'a': 1.0 / 0.0}"), engines.BadResponse, "sync.cel:1:1: a: is +Inf, which is no number in JSON"},
		"none":           {"nothing is no response", script("optional.none()"), engines.BadResponse, "sync.cel: the response is optional.none(), which is no value: write .orValue({...})"},
		"hole":           {"the place is the hole's", documentOf("response:\n  a:\n  - b: ${type(1)}"), engines.BadResponse, "sync.cel.yaml:3:10: a[0].b: is the type int, which JSON does not have"},
		"two fields":     {"which of the two is not known", documentOf("response:\n  s: {a: 1, '${\"a\"}': 2}"), engines.BadResponse, `sync.cel.yaml:2:16: s: has two fields of the name "a"`},
		"large":          {"responses are bounded", script("lists.range(100000).map(i, '" + strings.Repeat("x", 100) + "')"), engines.Exhausted, "sync.cel:1:1: the response is larger than 8 MiB"},
		"large shared":   {"parts of the request count", script("[request.big, request.big, request.big]"), engines.Exhausted, "sync.cel:1:1: the response is larger than 8 MiB"},
		"large text":     {"texts with holes count", documentOf("response: " + strings.Repeat("${request.text}", 3)), engines.Exhausted, "sync.cel.yaml:1:43: the response is larger than 8 MiB"},
		"large constant": {"nine aliases in nine aliases, and so on", documentOf(bomb()), engines.Exhausted, "sync.cel.yaml:2:14: the response is larger than 8 MiB"},
		"deep request":   {"nesting is bounded", script("request.deep"), engines.BadResponse, "sync.cel:1:1: is nested more than 500 deep"},
		"deep":           {"nesting is bounded", script("[[request.nearly]]"), engines.BadResponse, "sync.cel:1:1: [0][0]: is nested more than 500 deep"},
	}
	request := map[string]any{"text": strings.Repeat("x", 3<<20), "big": []any{strings.Repeat("x", 3<<20)}, "deep": nested(501), "nearly": nested(499)}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, failure := run(t, c.src, request, time.Minute)
			checkFailure(t, failure, c.kind, c.want)
		})
	}
}

func nested(depth int) any {
	var v any
	for range depth {
		v = []any{v}
	}
	return v
}

// bomb returns a small document of a large answer.
func bomb() string {
	text := "response:\n- &a0 [x, '${1}']\n"
	for i := range 8 {
		was := "*a" + string(rune('0'+i))
		text += "- &a" + string(rune('1'+i)) + " [" + strings.Repeat(was+", ", 9) + was + "]\n"
	}
	return text
}

// doubled returns an expression that doubles a list so often.
func doubled(times int) string {
	return strings.Repeat("cel.bind(a, ", times) + "[1]" + strings.Repeat(", a + a)", times)
}
