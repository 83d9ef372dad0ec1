package cel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestRepeatedParts(t *testing.T) {
	type list = []any
	type object = map[string]any
	cases := map[string]struct {
		reason, text string
		want         any
	}{
		"if true":         {"a part whose condition holds is there, without the condition", "response:\n- ${if}: ${parent.spec.replicas > 2}\n  a: ${parent.metadata.name}\n- b", list{object{"a": "web"}, "b"}},
		"if false":        {"any other is left out", "response:\n- ${if}: ${parent.spec.replicas > 3}\n  a: 1\n- b", list{"b"}},
		"if of a field":   {"a field may be left out, too", "response:\n  a: {'${if}': '${finalizing}', b: 1}\n  c: {'${if}': '${!finalizing}', b: 1}", object{"c": object{"b": int64(1)}}},
		"if none":         {"what is not set is not true", "response:\n- ${if}: ${parent.spec.?ingress}\n  a: 1", list{}},
		"if twice":        {"both must hold", "response:\n- ${if}: ${true}\n  ${if}: ${false}\n  a: 1", list{}},
		"if empty":        {"a part may have nothing but a condition", "response:\n- ${if}: ${true}", list{object{}}},
		"for each":        {"one for each element, in their order", "response:\n- a\n- ${forEach zone}: ${['x', 'y']}\n  zone: ${zone}\n  name: ${parent.metadata.name}-${zone}\n- b", list{"a", object{"zone": "x", "name": "web-x"}, object{"zone": "y", "name": "web-y"}, "b"}},
		"for each key":    {"a map is gone through by its sorted keys, as in CEL", "response:\n- ${forEach key}: ${children['Pod.v1']}\n  key: ${key}", list{object{"key": "default/a"}, object{"key": "default/b"}}},
		"for each none":   {"what is not set has no elements", "response:\n- ${forEach x}: ${parent.spec.?zones}\n  x: ${x}", list{}},
		"for each if":     {"a condition is one on the element, wherever it stands", "response:\n- ${if}: ${n % 2 == 1}\n  ${forEach n}: ${[1, 2, 3]}\n  n: ${n}", list{object{"n": int64(1)}, object{"n": int64(3)}}},
		"for each two":    {"each for those after it", "response:\n- ${forEach row}: ${[[1, 2], [3]]}\n  ${forEach n}: ${row}\n  n: ${n}\n  of: ${size(row)}", list{object{"n": int64(1), "of": int64(2)}, object{"n": int64(2), "of": int64(2)}, object{"n": int64(3), "of": int64(1)}}},
		"nested":          {"at any depth, as in a list of containers", "response:\n- ${forEach a}: ${['x', 'y']}\n  list:\n  - ${forEach b}: ${[a, 'z']}\n    both: ${a}${b}", list{object{"list": list{object{"both": "xx"}, object{"both": "xz"}}}, object{"list": list{object{"both": "yy"}, object{"both": "yz"}}}}},
		"macros":          {"names within expressions are closer", "response:\n- ${forEach a}: ${[1]}\n  a: ${[2].map(a, a)}\n  b: ${a}", list{object{"a": list{int64(2)}, "b": int64(1)}}},
		"same name":       {"a name ends with its part", "response:\n- ${forEach a}: ${[1]}\n  x: ${a}\n- ${forEach a}: ${['t']}\n  x: ${a}", list{object{"x": int64(1)}, object{"x": "t"}}},
		"aliases":         {"an alias has the name where it stands", "response:\n- ${forEach a}: ${['x', 'y']}\n  labels: &labels {app: '${a}'}\n  selector: *labels\n- ${forEach a}: ${['z']}\n  labels: *labels", list{object{"labels": object{"app": "x"}, "selector": object{"app": "x"}}, object{"labels": object{"app": "y"}, "selector": object{"app": "y"}}, object{"labels": object{"app": "z"}}}},
		"escaped":         {"a field may be called that", "response: [{'$${if}': 1, '$${forEach x}': 2, if: 3, forEach: 4}]", list{object{"${if}": int64(1), "${forEach x}": int64(2), "if": int64(3), "forEach": int64(4)}}},
		"value":           {"a variable may be a part of a response", "variables:\n- name: labels\n  value: {app: '${parent.metadata.name}', n: 1}\n- {name: all, value: ['${variables.labels}', 2]}\nresponse: {labels: '${variables.labels}', app: '${variables.labels.app}', all: '${variables.all}', size: '${size(variables.all)}'}", object{"labels": object{"app": "web", "n": int64(1)}, "app": "web", "all": list{object{"app": "web", "n": int64(1)}, int64(2)}, "size": int64(2)}},
		"optional value":  {"which may be left out", "variables:\n- {name: a, value: {'${if}': '${finalizing}', x: 1}}\n- {name: b, value: {'${if}': '${!finalizing}', x: 2}}\nresponse: ['${variables.a}', '${variables.b}', '${variables.b.x}', '${variables.a.hasValue()}']", list{object{"x": int64(2)}, int64(2), false}},
		"repeated value":  {"and repeat", "variables:\n- name: pods\n  value:\n  - ${forEach n}: ${[1, 2]}\n    n: ${n}\nresponse: ${variables.pods.map(p, p.n)}", list{int64(1), int64(2)}},
		"value in a loop": {"names of a variable are its own", "variables:\n- name: a\n  value:\n  - ${forEach n}: ${['x']}\n    n: ${n}\nresponse:\n- ${forEach n}: ${[1, 2]}\n  n: ${n}\n  a: ${variables.a}", list{object{"n": int64(1), "a": list{object{"n": "x"}}}, object{"n": int64(2), "a": list{object{"n": "x"}}}}},
		"unused value":    {"a value is made when it is asked for", "variables: [{name: a, value: {x: \"${fail('no')}\"}}]\nresponse: 1", int64(1)},
		"stages": {"what it is for: templates in stages", `
variables:
- name: config
  value: {apiVersion: v1, kind: Pod, metadata: {name: x}}
- name: all
  value:
  - - ${variables.config}
  - - ${forEach n}: ${['b', 'c']}
      apiVersion: v1
      kind: Pod
      metadata: {name: "${n}"}
response: ${inOrder(children, variables.all, parent).map(c, c.metadata.name)}`, list{"x", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, answerOf(t, documentOf(c.text), parentRequest())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepeatedPartsRefused(t *testing.T) {
	bomb, aliases := "variables:\n- {name: a0, value: &a0 [1]}\n", "*a0"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("- name: a%d\n  value: &a%d\n  - {'${forEach x%d}': '${[1]}', a: [%s]}\n", i, i, i, aliases)
		aliases = fmt.Sprintf("*a%d, %s", i, aliases)
	}
	cases := map[string]struct{ reason, text, want string }{
		"if number":      {"a condition is true or false", "response:\n- ${if}: ${1}\n  a: 1", "sync.cel.yaml:2:12: gives a value of type int: ${if} takes true or false"},
		"if text":        {"it is an expression", "response:\n- ${if}: yes\n  a: 1", "sync.cel.yaml:2:10: ${if} takes one expression that gives true or false: ${...}"},
		"if of parts":    {"and not a text with one", "response:\n- ${if}: a ${true}\n  a: 1", "sync.cel.yaml:2:10: ${if} takes one expression that gives true or false: ${...}"},
		"if unknown":     {"which is checked", "response:\n- ${if}: ${parnet.spec.x}\n  a: 1", "sync.cel.yaml:2:12: undeclared reference to 'parnet': did you mean parent?"},
		"each of number": {"there must be elements", "response:\n- ${forEach x}: ${size(children)}\n  a: 1", "sync.cel.yaml:2:19: gives a value of type int: ${forEach} takes a list or a map"},
		"each unnamed":   {"an element has a name", "response:\n- ${forEach}: ${[1]}\n  a: 1", "sync.cel.yaml:2:3: write ${forEach NAME}, with a name of letters, digits and _ for the element"},
		"each two names": {"one", "response:\n- ${forEach i, x}: ${[1]}\n  a: 1", "sync.cel.yaml:2:3: write ${forEach NAME}, with a name of letters, digits and _ for the element"},
		"each parent":    {"of its own", "response:\n- ${forEach parent}: ${[1]}\n  a: 1", "sync.cel.yaml:2:3: parent is something else here: give the element another name"},
		"each the same":  {"also within another", "response:\n- ${forEach x}: ${[1]}\n  ${forEach x}: ${[2]}\n  a: 1", "sync.cel.yaml:3:3: x is something else here: give the element another name"},
		"each field":     {"a field is one", "response:\n  a:\n    ${forEach x}: ${[1]}\n    b: 1", "sync.cel.yaml:3:5: ${forEach} stands in the items of lists, and this is none"},
		"each response":  {"so is the answer", "response: {'${forEach x}': '${[1]}'}", "sync.cel.yaml:1:11: ${forEach} stands in the items of lists, and this is none"},
		"each outside":   {"the name ends with its part", "response:\n- ${forEach x}: ${[1]}\n  a: ${x}\n- ${x}", "sync.cel.yaml:4:5: undeclared reference to 'x'"},
		"each type":      {"elements have types", "response:\n- ${forEach x}: ${['a']}\n  a: ${x + 1}", "sync.cel.yaml:3:10: found no matching overload for '_+_' applied to '(string, int)'"},
		"value text":     {"a text is an expression", "variables: [{name: a, value: x}]\nresponse: 1", "sync.cel.yaml:1:30: value must be an object or a list: anything else is an expression"},
		"value twice":    {"one of them would not be used", "variables: [{name: a, value: {}, expression: '1'}]\nresponse: 1", "sync.cel.yaml:1:30: value and expression exclude each other: a value is an object or a list as responses have it"},
		"value nameless": {"a variable has a name", "variables: [{value: {}}]\nresponse: 1", "sync.cel.yaml:1:13: name is required"},
		"bomb":           {"aliases in loops are compiled anew, up to a limit", bomb + "response: 1", "aliases stand for more than 20000 parts of the document"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			err := compileError(t, documentOf(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error\n%v, want\n%s", err, c.want)
			}
		})
	}
}

func TestRepeatedPartsFail(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		kind         engines.Kind
		want, stack  string
	}{
		"if":    {"types that are known in a call", "response:\n- 1\n- ${if}: ${parent.spec.replicas}\n  a: 1", engines.Failed, "sync.cel.yaml:3:12: gives a value of type int: ${if} takes true or false", "at response[1] (sync.cel.yaml:3:12)"},
		"each":  {"the same for lists", "response:\n- ${forEach x}: ${parent.metadata.name}\n  a: 1", engines.Failed, "sync.cel.yaml:2:19: gives a value of type string: ${forEach} takes a list or a map", "at response (sync.cel.yaml:2:19)"},
		"body":  {"the place is the author's, and the path the element's", "response:\n- ${forEach n}: ${[3, 2, 1, 0]}\n  a: ${6 / n}", engines.Failed, "sync.cel.yaml:3:10: division by zero", "at response[3].a (sync.cel.yaml:3:10)"},
		"value": {"a variable's path has its name", "variables: [{name: v, value: {a: ['${parent.spec.foo}']}}]\nresponse: ${variables.v}", engines.Failed, "sync.cel.yaml:1:49: no such key: foo: if it may be missing, write x.?foo.orValue(DEFAULT)", "at variables.v.a[0] (sync.cel.yaml:1:49)"},
		"type":  {"what JSON does not have", "variables: [{name: v, value: {a: '${type(1)}'}}]\nresponse: ${variables.v}", engines.BadResponse, "sync.cel.yaml:1:37: variables.v.a: is the type int, which JSON does not have", "at response (sync.cel.yaml:2:22)"},
		"cost":  {"elements count", "response:\n- ${forEach a}: ${lists.range(100000)}\n  ${forEach b}: ${lists.range(1000)}\n  ${if}: ${false}\n", engines.Exhausted, "sync.cel.yaml:4:12: costs more than the 10000000 that a call may", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, failure := run(t, documentOf(c.text), parentRequest(), 10*time.Second)
			checkFailure(t, failure, c.kind, c.want)
			if failure != nil && (len(failure.Stack) == 0 || !strings.HasPrefix(failure.Stack[0], c.stack)) {
				t.Errorf("stack %q, want %q first", failure.Stack, c.stack)
			}
		})
	}
}
