package cel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestRead(t *testing.T) {
	request := map[string]any{
		"parent": map[string]any{"metadata": map[string]any{"namespace": "shop"}, "spec": map[string]any{"size": int64(1)}}, "children": map[string]any{}, "finalizing": false,
	}
	cases := map[string]struct {
		reason string
		src    engines.Source
		read   engines.ReadSet
	}{
		"nothing":   {"a constant reads no field", script(`{"status": {}}`), engines.ReadSet{}},
		"field":     {"what is named is read", script(`{"status": parent.spec}`), engines.ReadSet{"parent.spec"}},
		"request":   {"the request is looked at by its fields", script(`{"status": request.parent.spec}`), engines.ReadSet{"parent.spec"}},
		"whole":     {"which are all read if it is taken whole", script(`{"status": request}`), nil},
		"branch":    {"what is not evaluated is not read", script(`parent.spec.size > 0 ? {"a": 1} : {"a": children.size()}`), engines.ReadSet{"parent.spec"}},
		"presence":  {"to ask whether a field has something reads it", script(`{"status": has(parent.spec.x)}`), engines.ReadSet{"parent.spec"}},
		"variable":  {"a variable reads what its expression does", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${variables.a}'}"), engines.ReadSet{"finalizing"}},
		"children":  {"children are found by the parent's namespace", script(`{"children": inOrder(children, [], parent)}`), engines.ReadSet{"children", "parent.metadata.namespace"}},
		"undecided": {"unless nobody asks for it", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${parent}'}"), engines.ReadSet{"parent"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			caller.MustRead(t, c.src, request, c.read)
		})
	}
}

func TestReadsOfParent(t *testing.T) {
	hooks := map[string]enginetest.ReadHook{}
	for name, expression := range map[string]string{
		"nothing":            `{}`,
		"field":              `{"x": parent.spec.size}`,
		"metadata":           `{"name": parent.metadata.name}`,
		"absent":             `{"x": parent.?status.?x.orValue(1)}`,
		"absent metadata":    `{"x": parent.metadata.?annotations.?x.orValue(1)}`,
		"label":              `{"x": parent.metadata.?labels.?app.orValue("none")}`,
		"presence":           `{"x": has(parent.status)}`,
		"metadata presence":  `{"x": "annotations" in parent.metadata}`,
		"returned":           `{"x": [parent]}`,
		"metadata returned":  `{"metadata": parent.metadata}`,
		"names":              `{"x": parent.map(name, name)}`,
		"names of metadata":  `{"x": parent.metadata.exists(name, name == "x")}`,
		"size":               `{"x": size(parent)}`,
		"compared":           `{"x": parent == related["Thing.example.com/v1"]["shop/p"]}`,
		"metadata compared":  `{"x": related["Thing.example.com/v1"]["shop/p"].metadata == parent.metadata}`,
		"copied":             `{"x": merge(parent, {"spec": {}}).spec}`,
		"variable":           `{"x": [parent].map(p, p.spec)}`,
		"metadata variable":  `{"x": [parent.metadata].map(m, m.name + m.namespace)}`,
		"function":           `{"x": [parent].map(p, p.metadata.name + string(p.spec.size))}`,
		"branch":             `{"x": finalizing ? parent.status : parent.spec}`,
		"text":               `{"x": "%s".format([parent])}`,
		"whole request":      `{"x": [request].map(all, all.parent.spec)}`,
		"library name":       `{"x": childName(parent.metadata.namespace, "a")}`,
		"library conditions": `{"x": isConditionTrue(parent, "Ready")}`,
	} {
		hooks[name] = enginetest.ReadHook{Script: expression}
	}
	caller.TestReads(t, hooks)
}

// readForms are expressions that look at an object in the ways that CEL has. See enginetest.ReadForms.
const readForms = `%O
dyn(%O).%F
%O.%F.app
%O.%F == "p"
%O["%F"]
%O[["%F"][0]]
has(%O.%F)
has(%O.%F.app)
has(%O.%F) ? %O.%F : "none"
!has(%O.%F) || %O.%F.size() > 0
%O.?%F.orValue("none")
%O.?%F
%O[?"%F"].hasValue()
%O.?%F.?app.orValue("none")
%O.?%F.optMap(v, 1).orValue(2)
optional.of(%O).?%F.hasValue()
optional.ofNonZeroValue(%O).hasValue()
optional.of(%O)
{?"a": %O.?%F}
[?%O.?%F]
"%F" in %O
"%F" in [%O][0]
%O == %O
%O != {"a": 1}
{"a": 1} == %O
%O == dyn(1)
dyn(1) == %O
%O in [%O]
%O in [{"a": 1}]
[1, %O].exists(v, v == {"a": 1})
type(%O) == map
type(%O.%F) == string
size(%O)
%O.size() > 3
%O.map(k, k)
%O.filter(k, k == "%F")
%O.all(k, k != "")
%O.exists(k, k == "%F")
%O.exists_one(k, k == "%F")
%O.transformList(k, v, k)
%O.transformMap(k, v, k == "%F", v)
%O.exists(k, v, k == "%F")
%O.map(k, %O[k])
[%O].map(o, has(o.%F))
[%O].map(o, o.?%F)
[[%O]].flatten()[0].?%F
[%O, %O].distinct().size()
[dyn(%O), 1][0].?%F
[%O] + [%O]
{"a": %O}.a.?%F
{"a": %O}
{"a": %O}.map(k, k)
{"%F": 1, "b": %O.?%F}
merge(%O, {"a": 1})
merge({"a": 1}, %O)
merge({"a": 1}, %O).?%F
merge({"a": {"b": 1}}, {"a": %O}).a.?%F
cel.bind(o, %O, o.?%F)
cel.bind(o, %O, 1)
cel.bind(o, %O, has(o.%F) && o.%F == o.%F)
(true ? %O : {}).?%F
(has(%O.%F) ? %O : {}).size()
false || has(%O.%F)
%O.%F == 1 || true
true || %O.%F == 1
[1].map(i, has(%O.%F))
[1, 2].exists(i, %O.?%F.hasValue())
hash(%O)
hash(%O.?%F.orValue(1))
isReady(%O)
findCondition(%O, "Ready")
isConditionTrue(%O, "Ready")
[isConditionTrue(%O, "Ready"), has(%O.%F)]
findCondition({"status": %O}, "Ready")
setCondition([], {"type": "a", "status": "True", "x": %O})
childName("a", %O.?%F.orValue("b"))
"%s".format([%O])
"%s".format([%O.?%F.hasValue()])
[%O].sortBy(o, has(o.%F)).size()
lists.range(2).map(i, has(%O.%F))
variables.o.?%F
variables.o
has(variables.o.%F)
{"x": variables.o}.x == variables.o`

func TestReadForms(t *testing.T) {
	objects := [3]string{"request", "parent", "parent.metadata"}
	caller := enginetest.Caller{Definition: Definition(), Path: "sync.cel.yaml", Call: caller.Call}
	caller.CheckForms(t, enginetest.ReadForms{
		Objects: objects,
		Forms:   strings.Split(readForms, "\n"),
		Script: func(object, expression string) string {
			return fmt.Sprintf("variables:\n- {name: o, expression: %s}\nresponse: {x: %q}", object, "${"+expression+"}")
		},
	})
}
