package jsonnet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestReadsOfParent(t *testing.T) {
	hooks := map[string]enginetest.ReadHook{
		"branch": {
			Script: "function(request) if request.finalizing then request.parent.status else request.parent.spec",
			Read:   engines.ReadSet{"finalizing", "parent.spec", "parent.status"}, // By its source.
		},
	}
	for name, expression := range map[string]string{
		"nothing":            `{}`,
		"field":              `{ x: request.parent.spec.size }`,
		"metadata":           `{ name: 'a-%s' % request.parent.metadata.name }`,
		"absent":             `{ x: std.get(request.parent, 'status', {}) }`,
		"absent metadata":    `{ x: std.get(request.parent.metadata, 'annotations') }`,
		"label":              `{ x: std.get(request.parent.metadata.labels, 'app') }`,
		"presence":           `{ x: 'status' in request.parent }`,
		"metadata presence":  `{ x: std.objectHas(request.parent.metadata, 'annotations') }`,
		"returned":           `{ x: [request.parent] }`,
		"metadata returned":  `{ metadata: request.parent.metadata }`,
		"names":              `{ x: std.objectFields(request.parent) }`,
		"names of metadata":  `{ [name]: 1 for name in std.objectFields(request.parent.metadata) }`,
		"size":               `{ x: std.length(request.parent) }`,
		"compared":           `{ x: request.parent == request.related['Thing.example.com/v1']['shop/p'] }`,
		"metadata compared":  `{ x: request.related['Thing.example.com/v1']['shop/p'].metadata == request.parent.metadata }`,
		"copied":             `(request.parent + { spec: {} }).spec`,
		"variable":           `local p = request.parent; p.spec`,
		"metadata variable":  `local m = request.parent.metadata; { name: m.name, namespace: m.namespace }`,
		"function":           `local f(p) = { name: p.metadata.name, spec: p.spec }; f(request.parent)`,
		"text":               `{ x: '%s' % [request.parent] }`,
		"whole request":      `local all = request; local f(r) = r.parent.spec; f(all)`,
		"library name":       `{ x: libretto.childName(request.parent.metadata.namespace) }`,
		"library conditions": `{ x: libretto.isConditionTrue(request.parent, 'Ready') }`,
	} {
		hooks[name] = enginetest.ReadHook{Script: "local libretto = import 'libretto'; function(request) " + expression}
	}
	caller.TestReads(t, hooks)
}

// readForms are expressions that look at an object in the ways that Jsonnet has. See enginetest.ReadForms.
const readForms = `%O
%O.%F
%O["%F"]
%O[std.join("", ["%F"])]
std.get(%O, "%F")
std.get(%O, "%F", 1)
std.get(%O, "%F", %O)
std.get(o=%O, f="%F")
std.get(%O, "x" + "%F", 1)
"%F" in %O
std.objectHas(%O, "%F")
std.objectHasAll(%O, "%F")
std.objectHas(%O, std.join("", ["%F"]))
std.objectFields(%O)
std.objectFieldsAll(%O)
std.objectValues(%O)
std.objectKeysValues(%O)
std.length(%O)
std.isObject(%O)
std.type(%O)
std.type(std.get(%O, "%F"))
%O == %O
%O != {a: 1}
{a: 1} == %O
%O + {a: 1}
(%O + {a: 1}).%F
(%O {a: 1}).a
({a: 1} + %O).a
(%O {a: "%F" in super}).a
(%O {a: std.get(self, "%F")}).a
{[k]: 1 for k in std.objectFields(%O)}
[k for k in std.objectFields(%O)]
[o.%F for o in [%O] if "%F" in o]
[std.objectHas(o, "%F") for o in [%O]]
std.map(function(o) std.objectHas(o, "%F"), [%O])
std.filter(function(o) std.objectHas(o, "%F"), [%O])
std.foldl(function(a, o) a + std.length(o), [%O], 0)
std.mapWithKey(function(k, v) k, %O)
std.mergePatch(%O, {a: 1})
std.mergePatch({a: 1}, %O)
std.prune(%O)
std.toString(%O)
"" + %O
"%s" % [%O]
"%s" % [std.objectHas(%O, "%F")]
std.format("%s", [std.get(%O, "%F")])
std.manifestJsonMinified(%O)
std.manifestYamlDoc(%O)
std.sha256(std.manifestJson(%O))
std.member([%O], {a: 1})
std.count([%O, 1], {a: 1})
std.equals(%O, {a: 1})
std.assertEqual(1, 1) && std.objectHas(%O, "%F")
local p = %O; p
local p = %O; std.objectHas(p, "%F")
local p = %O, q = p; std.get(q, "%F", 0)
local q = p, p = %O; std.get(q, "%F", 0)
local q = r, r = p, p = %O; std.length(q)
local p = %O; [std.objectHas(p, "%F"), std.type(p)]
local f(o) = std.objectHas(o, "%F"); f(%O)
local f(o) = o; f(%O)
local f(o) = o; std.objectHas(f(%O), "%F")
local f(o) = std.length(o); f(%O)
local f(o, d=%O) = std.length(d); f(1)
local f(o, n="%F") = std.objectHas(o, n); f(%O)
local f(o) = function() std.objectHas(o, "%F"); f(%O)()
local f() = %O; std.objectHas(f(), "%F")
local f() = %O; std.length(f())
local f(n) = if n == 0 then %O else f(n - 1); std.length(f(2))
local f(n, o) = if n == 0 then std.length(o) else f(n - 1, o); f(2, %O)
local f(n, o) = if n == 0 then std.objectHas(o, "%F") else f(n - 1, o); f(2, %O)
local f(o) = g(o), g(o) = std.objectHas(o, "%F"); f(%O)
local apply(f, o) = f(o); apply(function(o) std.objectHas(o, "%F"), %O)
local apply(f, o) = f(o); apply(std.length, %O)
local f = std.length; f(%O)
local f = if std.length([]) == 0 then std.length else std.type; f(%O)
local s = std; s.length(%O)
local std = {get(o, f):: o == {}}; std.get(%O, "%F")
%O == null
if %O != null then std.get(%O, "%F")
local o = {p: %O}; std.objectHas(o.p, "%F")
local o = {p:: %O, q: std.length(self.p)}; o.q
local o = {f(p):: std.length(p)}; o.f(%O)
local o = {local p = %O, q: std.objectHas(p, "%F")}; o.q
local a = [%O]; std.objectHas(a[0], "%F")
local a = [%O]; [std.type(a[0]), std.length(a[0])]
(if true then %O else {}) == {}
local p = if std.length("") == 0 then %O else {}; std.objectHas(p, "%F")
if std.objectHas(%O, "%F") then %O.%F else "none"
if %O == {} then 1 else 2
assert std.objectHas(%O, "kind") || true; 1
(function(o) std.objectHas(o, "%F"))(%O)
(function(o=%O) std.objectHas(o, "%F"))()
(function(a, o) std.length(o))(o=%O, a=1)
std.trace("x", %O)
std.length(std.trace("x", [%O]))
std.native("parseJson")(std.manifestJson(%O))
std.all([std.objectHas(%O, "%F")])
std.sort([%O], function(o) std.length(o))
std.set([%O], function(o) if std.objectHas(o, "%F") then 1 else 0)
std.objectHas({a: %O}.a, "%F")
std.slice([%O], 0, 1, 1)
[%O][0:1]
lib.has(%O, "%F")
lib.size(%O)
lib.field(%O)
lib.deep.size(%O)
local l = lib; l.field(%O)
lib.apply(function(o) std.objectHas(o, "%F"), %O)
lib.apply(std.length, %O)
libretto.isReady(%O)
libretto.hash(%O)
libretto.findCondition(%O, "Ready")
libretto.merge(%O, {a: 1})
libretto.childKey({metadata: {name: "a"}}, {metadata: %O})
libretto.matchesLabels({matchLabels: {app: "web"}}, std.get(%O, "%F", {}))
local a = [function() std.objectHas(b, "%F")], b = %O; a[0]()
local a = {f():: std.objectHas(b, "%F")}, b = %O; a.f()
local a = {f():: b.%F}, b = %O; a.f()
local a = std.map(function(x) std.objectHas(b, "%F"), [1]), b = %O; a
{local a = [function() std.objectHas(b, "%F")], local b = %O, x: a[0]()}
local a = c(function() std.objectHas(b, "%F")), c(f) = [f], b = %O; a[0]()
local o = {a: 1} + {b: super.a, c: std.length(%O)}; o.c
local f(o) = o { x: "%F" in super }; f(%O).x
std.foldl(function(a, k) a + k, std.objectFields(%O), "")
std.isEmpty("") && std.objectHas(%O, "%F")
std.objectHas(%O, "%F") tailstrict
local f(o) = std.objectHas(o, "%F"); f(%O) tailstrict
local f(o) = {g: function() std.objectHas(o, "%F")}; f(%O).g()
local m = {x:: %O}; local n = m {y: std.objectHas(self.x, "%F")}; n.y
local rec(n) = if n == 0 then function(o) std.objectHas(o, "%F") else rec(n - 1); rec(3)(%O)
local rec(n) = if n == 0 then function() std.objectHas(%O, "%F") else rec(n - 1); rec(3)()
local y(f) = f(f); y(function(f) std.objectHas(%O, "%F"))
local k(x) = function(y) x; std.objectHas(k(%O)(1), "%F")
local k(x) = function(y) x; k(%O)(1)
local k(x, y=x) = y; std.objectHas(k(%O), "%F")
local k(x=1, y=std.objectHas(%O, "%F")) = y; k()
local k(f=function() std.objectHas(%O, "%F")) = f(); k()
local a = b, b = c, c = d, d = %O; [function() a][0]()
local f = function(o) std.objectHas(o, "%F"), g = f, h = g; h(%O)
local f(g) = g(%O); f(function(o) std.objectHas(o, "%F"))
local f(g) = [g(%O)]; f(function(o) std.length(o))
local f(x) = (if true then x else null); std.objectHas(f(%O), "%F")
assert std.objectHas(%O, "%F") || true : %O.%F; 1
{assert std.objectHas(%O, "%F") || true, x: 1}
{["a" + std.objectHas(%O, "%F")]: 1}
{[if std.objectHas(%O, "%F") then "x"]: 1}
{x+: std.objectHas(%O, "%F")}
-std.length(%O)
!std.objectHas(%O, "%F")
std.objectHas(%O, "%F") == null
null == %O
null != std.get(%O, "%F")
(if std.objectHas(%O, "%F") then %O else null) == null
(if std.objectHas(%O, "%F") then null else 1) == null
std.get(%O, "%F") == null
std.get(%O, "%F") != null
std.get({}, "x", %O)
std.get({}, "x", std.objectHas(%O, "%F"))
std.objectRemoveKey(%O, "%F")
std.type(if std.objectHas(%O, "%F") then 1 else "")
std.type((function() std.objectHas(%O, "%F"))())
std.isFunction(function() %O)
local std2 = std, f = std2.objectHas; f(%O, "%F")
[std][0].objectHas(%O, "%F")
local f(std) = std.get(%O, "%F", 1); f({get(o, f, d):: std.length(o)} + {local std = {length(x): 1}})
local x = {std:: {objectHas(o, f):: o == {}}}; x.std.objectHas(%O, "%F")
std.native("$field")("parent")
std.objectHas(std.native("$field")("parent"), "%F")
lib.curry(%O)("%F")
lib.wrap(%O).has("%F")
lib.rec(%O, 3)
lib.lazy(%O)
lib.opt(o=%O)
lib.chain(%O)
(import "lib.libsonnet").size(%O)`

// readLibrary is a file with functions that forms call.
const readLibrary = `
local size(o) = std.length(o);
local late = [function(o) std.objectHas(o, key)], key = 'status';
{
  local object = self,
  has(o, f):: std.objectHas(o, f),
  size:: size,
  field(o):: [std.get(o, 'spec', 1), std.get(o, 'labels', 2)],
  apply(f, o):: f(o),
  deep:: { size(o):: object.size(o) },
  curry(o):: function(f) std.objectHas(o, f),
  wrap(o):: { has(f):: std.objectHas(o, f) },
  rec(o, n):: if n == 0 then std.objectHas(o, 'status') else object.rec(o, n - 1),
  lazy(o):: late[0](o),
  opt(o=null, d=std.objectHas(o, 'status')):: d,
  chain:: object.size,
}`

func TestReadForms(t *testing.T) {
	caller.CheckForms(t, enginetest.ReadForms{
		Objects: [3]string{"request", "request.parent", "request.parent.metadata"},
		Forms:   strings.Split(readForms, "\n"),
		Files:   map[string]string{"lib.libsonnet": readLibrary},
		Script: func(_, expression string) string {
			return fmt.Sprintf("local libretto = import 'libretto';\nlocal lib = import 'lib.libsonnet';\nfunction(request) { x: (%s) }", expression)
		},
	})
}

// TestReadsOfManyCalls has functions that call each other 2^40 times, if each call is followed. They read the whole parent.
func TestReadsOfManyCalls(t *testing.T) {
	var b strings.Builder
	b.WriteString("local f0(p) = p.spec.size;\n")
	for i := range 40 {
		fmt.Fprintf(&b, "local f%d(p) = if false then f%d(p) else if true then 1 else f%d(p);\n", i+1, i, i)
	}
	b.WriteString("function(request) { x: f40(request.parent), y: request.parent.spec.size }")
	caller.CheckReads(t, caller.Script(b.String()), readsRequest, engines.ReadSet{"parent"})
}

var readsRequest = map[string]any{"parent": map[string]any{"spec": map[string]any{"size": int64(1)}, "metadata": map[string]any{"name": "p"}}}
