package javascript

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

func TestUnread(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		unread         []string
	}{
		"nothing":      {"a constant goes by no field", `export function sync() { return {} }`, []string{"a", "b", "c"}},
		"property":     {"what is got is read", `export function sync(request) { return {x: request.a} }`, []string{"b", "c"}},
		"part":         {"a part is of its field", `export function sync(request) { return {x: request.b.deep} }`, []string{"a", "c"}},
		"destructured": {"as a parameter", `export function sync({a, c}) { return {a, c} }`, []string{"b"}},
		"rest":         {"the rest is read, whatever becomes of it", `export function sync({a, ...rest}) { return {} }`, nil},
		"spread":       {"so is a copy", `export function sync(request) { return {...request} }`, nil},
		"whole":        {"so is the request as it came", `export function sync(request) { return request }`, nil},
		"changed":      {"and one that was changed: what was deleted is not in it", `export function sync(request) { delete request.a; request.b = 1; return request }`, []string{"a", "b"}},
		"written":      {"and as text", `export function sync(request) { return {x: JSON.stringify(request)} }`, nil},
		"cloned":       {"and as a clone", `export function sync(request) { return {x: structuredClone(request).a} }`, nil},
		"names":        {"the names of the fields say nothing of what they hold", `export function sync(request) { return {x: Object.keys(request), y: 'a' in request} }`, []string{"a", "b", "c"}},
		"values":       {"their values do", `export function sync(request) { return {x: Object.values(request).length} }`, nil},
		"compared":     {"a comparison reads", `export function sync(request) { if (request.c === null) return {}; return {x: 1} }`, []string{"a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{"a": int64(1), "b": map[string]any{"deep": "b"}, "c": nil}
			caller.MustLeave(t, script(c.script), request, c.unread)
		})
	}
}

func TestUnreadOfContext(t *testing.T) {
	src := script(`module.exports = async context => ({status: 200, body: {x: context.request.body.a}})`)
	src.Script.Signature = engines.HTTPContext
	caller.MustLeave(t, src, map[string]any{"a": int64(1), "b": int64(2)}, []string{"b"})
}

func TestFailureLeavesUnreadOut(t *testing.T) {
	response, failure := run(t, script(`export function sync(request) { throw new Error("no") }`), map[string]any{"a": int64(1)}, time.Minute)
	if failure == nil || response.Unread != nil {
		t.Errorf("failed with %v and said that %v were not read", failure, response.Unread)
	}
}
