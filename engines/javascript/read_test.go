package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		read           engines.ReadSet
	}{
		"nothing":      {"a constant reads no field", `export function sync() { return {} }`, engines.ReadSet{}},
		"property":     {"what is got is read", `export function sync(request) { return {x: request.a} }`, engines.ReadSet{"a"}},
		"part":         {"a part is of its field", `export function sync(request) { return {x: request.b.deep} }`, engines.ReadSet{"b"}},
		"destructured": {"as a parameter", `export function sync({a, c}) { return {a, c} }`, engines.ReadSet{"a", "c"}},
		"rest":         {"the rest is read, whether it is used or not", `export function sync({a, ...rest}) { return {} }`, nil},
		"spread":       {"so is a copy", `export function sync(request) { return {...request} }`, nil},
		"whole":        {"so is the request as it came", `export function sync(request) { return request }`, nil},
		"changed":      {"and one that was changed", `export function sync(request) { delete request.a; request.b = 1; return request }`, nil},
		"written":      {"and as text", `export function sync(request) { return {x: JSON.stringify(request)} }`, nil},
		"cloned":       {"a clone is read as what it is of", `export function sync(request) { return {x: structuredClone(request).a} }`, engines.ReadSet{"a"}},
		"names":        {"so do their names", `export function sync(request) { return {x: Object.keys(request)} }`, nil},
		"presence":     {"to ask whether a field is there reads it", `export function sync(request) { return {x: 'a' in request} }`, engines.ReadSet{"a"}},
		"absent":       {"so does a field that is not there, which may be there later", `export function sync(request) { return {x: request.z} }`, engines.ReadSet{"z"}},
		"values":       {"their values do", `export function sync(request) { return {x: Object.values(request).length} }`, nil},
		"compared":     {"a comparison reads", `export function sync(request) { if (request.c === null) return {}; return {x: 1} }`, engines.ReadSet{"c"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{"a": int64(1), "b": map[string]any{"deep": "b"}, "c": nil}
			caller.MustRead(t, script(c.script), request, c.read)
		})
	}
}

func TestReadsOfParent(t *testing.T) {
	hooks := map[string]enginetest.ReadHook{}
	for name, body := range map[string]string{
		"nothing":            `({}) => ({})`,
		"field":              `({parent}) => ({x: parent.spec.size})`,
		"metadata":           `({parent: {metadata: {name}}}) => ({name})`,
		"absent":             `({parent}) => ({x: parent.status?.x})`,
		"absent metadata":    `({parent}) => ({x: parent.metadata.annotations?.x ?? 1})`,
		"label":              `request => ({x: request.parent.metadata.labels?.app})`,
		"presence":           `({parent}) => ({x: 'status' in parent})`,
		"metadata presence":  `({parent}) => ({x: Object.hasOwn(parent.metadata, 'annotations')})`,
		"returned":           `({parent}) => ({x: [parent]})`,
		"metadata returned":  `({parent: {metadata}}) => ({metadata})`,
		"names":              `({parent}) => ({x: Object.keys(parent).length})`,
		"names of metadata":  `({parent}) => { const names = []; for (const name in parent.metadata) names.push(name); return names }`,
		"size":               `({parent}) => ({x: Object.values(parent).length})`,
		"compared":           `({parent, related}) => ({x: JSON.stringify(parent) === JSON.stringify(related['Thing.example.com/v1']['shop/p'])})`,
		"metadata compared":  `({parent, related}) => ({x: JSON.stringify(related['Thing.example.com/v1']['shop/p']) === JSON.stringify(parent.metadata)})`,
		"copied":             `({parent}) => ({...parent, spec: {}}).spec`,
		"variable":           `request => { const p = request.parent; return p.spec }`,
		"metadata variable":  `({parent}) => { const {spec: ignored, metadata: {name, namespace}} = {metadata: parent.metadata}; return {name, namespace} }`,
		"function":           `({parent}) => { const f = ({spec, metadata}) => ({...spec, name: metadata.name}); return f(parent) }`,
		"branch":             `({parent, finalizing}) => finalizing ? parent.status : parent.spec`,
		"text":               "({parent}) => ({x: `${JSON.stringify(parent)}`})",
		"whole request":      `(...args) => { const all = args[0]; return all['parent']['spec'] }`,
		"library name":       `({parent}) => ({x: childKey({metadata: {name: 'a'}}, parent)})`,
		"library conditions": `({parent}) => ({x: isConditionTrue(parent, 'Ready')})`,
	} {
		hooks[name] = enginetest.ReadHook{Script: "import {childKey, isConditionTrue} from 'libretto'\nexport const sync = " + body}
	}
	caller.TestReads(t, hooks)
}

// readForms are expressions that look at an object in the ways that JavaScript has. See enginetest.ReadForms.
const readForms = `%O
%O.%F
%O.%F?.app
%O["%F"]
%O.%F ?? 1
!!%O.%F
typeof %O
typeof %O.%F
"%F" in %O
%O === %O
%O == null
` + "`" + `${%O}` + "`" + `
%O + ""
isNaN(+%O)
Object.keys(%O)
Object.values(%O).length
Object.entries(%O)
Object.getOwnPropertyNames(%O)
Object.getOwnPropertySymbols(%O).length
Reflect.ownKeys(%O)
Object.assign({}, %O)
Object.getOwnPropertyDescriptor(%O, "%F")
Object.getOwnPropertyDescriptors(%O)
Object.hasOwn(%O, "%F")
%O.hasOwnProperty("%F")
%O.propertyIsEnumerable("%F")
Reflect.has(%O, "%F")
Reflect.get(%O, "%F")
Object.isFrozen(%O)
Object.isExtensible(%O)
Object.is(%O, %O)
Object.getPrototypeOf(%O) === Object.prototype
Object.create(%O).%F
"%F" in Object.create(%O)
(() => { const all = []; for (const k in Object.create(%O)) all.push(k); return all })()
Object.setPrototypeOf({}, %O).%F
Array.isArray(%O)
Array.from(%O)
({...%O})
({...%O}).%F
({...%O, %F: 1}).%F
(({%F, ...rest}) => rest)(%O)
(({%F: {app} = {}}) => app)(%O)
(() => { const {["%F"]: x} = %O; return x })()
(() => { for (const k in %O) return k })()
(() => { for (const k in %O) return 1; return 0 })()
JSON.stringify(%O)
JSON.stringify({x: %O}, ["x", "%F"])
JSON.stringify(%O, (k, v) => k === "" ? v : 1)
JSON.parse(JSON.stringify(%O)).%F
structuredClone(%O)
structuredClone(%O).%F
structuredClone({a: %O}).a.%F
(() => { const c = structuredClone(%O); c.%F = 1; return c.%F })()
(() => { const c = structuredClone(%O); c.added = 1; return Object.keys(c) })()
(() => { const o = %O; o.%F = 1; return o.%F })()
(() => { const o = %O; o.%F = 1; return o })()
(() => { const o = %O; o.added = 1; return o.%F })()
(() => { const o = %O; delete o.%F; return o.%F ?? "none" })()
(() => { const o = %O; delete o.%F; return o })()
(() => { const o = %O; delete o.%F; return "%F" in o })()
(() => { const o = %O; return Reflect.deleteProperty(o, "%F") })()
(() => { const o = %O; delete o.%F; o.%F = 1; return Object.keys(o) })()
(() => { const o = %O; Object.defineProperty(o, "%F", {value: 1, writable: true, enumerable: true, configurable: true}); return o.%F })()
(() => { try { Object.freeze(%O); return 1 } catch (e) { return e.message } })()
(() => { try { Object.defineProperty(%O, "%F", {get() { return 1 }}); return 1 } catch (e) { return e.message } })()
(() => { const o = %O; if (o.%F) o.%F.added = 1; return o.%F })()
(() => { const o = %O; o.%F ??= "new"; return o.%F })()
(() => { const o = %O; o.%F ||= {}; return typeof o.%F })()
(() => { const o = %O; Object.assign(o, {%F: 1}); return o.%F })()
(() => { request.copy = %O; return request.copy.%F })()
(() => { request.copy = %O; return request.copy })()
(() => { const o = %O; o.self = [o.%F]; return o.self })()
(() => { try { return %O.%F.x.y } catch (e) { return e.message } })()
(() => { try { return %O() } catch (e) { return e.message } })()
(() => { try { throw %O } catch (e) { return e.%F } })()
new Map([[%O, 1]]).get(%O)
new Map(Object.entries(%O)).get("%F")
new Set([%O]).size
new WeakMap([[%O, 2]]).get(%O)
new Proxy(%O, {}).%F
Object.keys(new Proxy(%O, {}))
"%F" in new Proxy(%O, {})
new Proxy({}, {get: (_, k) => %O[k]}).%F
[%O].map(o => o.%F)
[%O, {}].find(o => "%F" in o)
[%O].includes(%O)
[[%O]].flat()[0].%F
[%O].concat([1])[0]
(async () => (await %O).%F)()
(async () => await %O)()
(function* () { yield %O.%F })().next().value
(() => { class A { constructor(o) { Object.assign(this, o) } } return new A(%O).%F })()
(() => { const get = Object.getOwnPropertyDescriptor({get x() { return this.%F }}, "x").get; return get.call(%O) })()
(function () { return this.%F }).call(%O)
(() => { const keys = Object.keys; return keys.call(null, %O).includes("%F") })()
(() => { console.log(%O); return 1 })()
(() => { console.log("%s", %O.%F); return 1 })()
%O.toString()
%O.valueOf().%F
%O.%F instanceof Object
%O instanceof Object
%O.constructor === Object
%O.__proto__ === undefined
libretto.hash(%O)
libretto.hashedName("a", %O.%F ?? 1)
libretto.isReady(%O)
libretto.merge(%O, {a: 1})
libretto.merge({a: 1}, %O)
libretto.merge({a: 1}, %O).%F
libretto.findCondition(%O, "Ready")
libretto.ownerName({metadata: {...%O}})
libretto.matchesLabels({matchLabels: {app: "web"}}, %O.%F?.app ? %O.%F : {})
libretto.withLabels(%O, {a: "b"})
(() => { const c = structuredClone({o: %O}); return Object.keys(c.o) })()
(() => { const o = %O; Object.prototype.%F = 5; try { return o.%F } finally { delete Object.prototype.%F } })()
(() => { const o = %O; o.toJSON = () => 1; return JSON.stringify(o) })()
JSON.stringify({a: %O}, (k, v) => typeof v === "object" && k === "a" ? "%F" in v : v)
Reflect.set(%O, "%F", 1)
Reflect.defineProperty(%O, "%F", {value: 1})
(() => { const o = %O; const before = o.%F; o.%F = 1; delete o.%F; return o })()
(() => { const c = Object.create(%O); c.%F = 1; return Object.keys(c) })()
(() => { const c = Object.create(%O); c.%F = 1; return c.%F })()
(() => { class A { #o = %O; has() { return "%F" in this.#o } } return new A().has() })()
Array.prototype.slice.call(%O)
(() => { let n = 0; JSON.stringify(%O, () => { n++; return undefined }); return n })()
(() => { const o = {__proto__: %O}; return "%F" in o })()
(() => { const o = {__proto__: %O}; let n = 0; for (const k in o) n++; return n })()
(() => { const o = Object.setPrototypeOf({own: 1}, %O); return structuredClone(o) })()
(() => { const o = Object.setPrototypeOf({own: 1}, %O); return o })()
(() => { request.parent = {...request.parent, added: 1}; return request.parent.spec })()
(() => { request.parent.metadata = {name: 1}; return request.parent.metadata })()
(() => { delete request.parent; return request.parent === undefined })()
Promise.all([%O]).then(([o]) => "%F" in o)
Promise.reject(%O).catch(o => Object.keys(o).length)
(() => { console.log("%o %j %s", %O, %O, %O); return 1 })()
structuredClone(new Map([["a", %O]])).get("a").%F
(({%F = 3}) => %F)(%O)`

func TestReadForms(t *testing.T) {
	caller.CheckForms(t, enginetest.ReadForms{
		Objects: [3]string{"request", "request.parent", "request.parent.metadata"},
		Forms:   strings.Split(readForms, "\n"),
		Script: func(_, expression string) string {
			hook := "export const sync = async (request) => ({x: await " + expression + "})"
			if strings.Contains(expression, "libretto.") {
				hook = "import * as libretto from 'libretto'\n" + hook
			}
			return hook
		},
	})
}

func TestReadOfContext(t *testing.T) {
	src := script(`module.exports = async context => ({status: 200, body: {x: context.request.body.a}})`)
	src.Script.Signature = engines.HTTPContext
	caller.MustRead(t, src, map[string]any{"a": int64(1), "b": int64(2)}, engines.ReadSet{"a"})
}

func TestFailureLeavesReadOut(t *testing.T) {
	response, failure := run(t, script(`export function sync(request) { throw new Error("no") }`), map[string]any{"a": int64(1)}, time.Minute)
	if failure == nil || response.Read != nil {
		t.Errorf("failed with %v and said that %v was read", failure, response.Read)
	}
}
