package javascript

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		read           engines.ReadSet
	}{
		"nothing":      {"a constant goes by no field", `export function sync() { return {} }`, engines.ReadSet{}},
		"property":     {"what is got is read", `export function sync(request) { return {x: request.a} }`, engines.ReadSet{"a"}},
		"part":         {"a part is of its field", `export function sync(request) { return {x: request.b.deep} }`, engines.ReadSet{"b"}},
		"destructured": {"as a parameter", `export function sync({a, c}) { return {a, c} }`, engines.ReadSet{"a", "c"}},
		"rest":         {"the rest is read, whatever becomes of it", `export function sync({a, ...rest}) { return {} }`, nil},
		"spread":       {"so is a copy", `export function sync(request) { return {...request} }`, nil},
		"whole":        {"so is the request as it came", `export function sync(request) { return request }`, nil},
		"changed":      {"and one that was changed", `export function sync(request) { delete request.a; request.b = 1; return request }`, nil},
		"written":      {"and as text", `export function sync(request) { return {x: JSON.stringify(request)} }`, nil},
		"cloned":       {"and as a clone", `export function sync(request) { return {x: structuredClone(request).a} }`, nil},
		"names":        {"so do their names", `export function sync(request) { return {x: Object.keys(request)} }`, nil},
		"presence":     {"to ask whether a field is there reads it", `export function sync(request) { return {x: 'a' in request} }`, engines.ReadSet{"a"}},
		"absent":       {"so does a field that is not there, which may be there later", `export function sync(request) { return {x: request.z} }`, engines.ReadSet{"z"}},
		"deleted":      {"what the script deleted is not of the request", `export function sync(request) { delete request.b; return {y: request.b} }`, engines.ReadSet{}},
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
