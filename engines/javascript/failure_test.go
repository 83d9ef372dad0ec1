package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestFailures(t *testing.T) {
	cases := map[string]struct {
		reason, body string
		kind         engines.Kind
		want         string
	}{
		"error":          {"a plain Error is its message", `throw new Error('boom')`, engines.Failed, "sync.js:2:7: boom"},
		"type error":     {"other errors say their name", `request.a.b.c`, engines.Failed, "sync.js:2:11: TypeError: Cannot read property 'b' of undefined"},
		"own error":      {"a class of one's own is an error too", `throw new (class MyError extends Error { name = 'MyError' })('boom')`, engines.Failed, "sync.js:2:7: MyError: boom"},
		"text":           {"anything can be thrown", `throw 'boom'`, engines.Failed, "sync.js:2:1: threw boom"},
		"object":         {"not as [object Object]", `throw {code: 7, why: {a: [1]}}`, engines.Failed, `sync.js:2:1: threw {"code":7,"why":{"a":[1]}}`},
		"nothing":        {"anything can be thrown", `throw undefined`, engines.Failed, "sync.js:2:1: threw undefined"},
		"rejection":      {"a rejected promise is a throw", `return (async () => { await null; throw new Error('boom') })()`, engines.Failed, "sync.js:2:41: boom"},
		"no settling":    {"nothing can settle it any more", `return new Promise(() => {})`, engines.Failed, "sync.js: the promise never settles"},
		"eval":           {"no code from strings", `eval('1')`, engines.Failed, "sync.js:2:1: TypeError: code can't be made from strings"},
		"indirect eval":  {"no code from strings", `(0, eval)('1')`, engines.Failed, "sync.js:2:5: TypeError: code can't be made from strings"},
		"Function":       {"no code from strings", `new Function('return 1')`, engines.Failed, "sync.js:2:1: TypeError: code can't be made from strings"},
		"Function again": {"no code from strings", `(() => 1).constructor('return 1')`, engines.Failed, "sync.js:2:11: TypeError: code can't be made from strings"},
		"AsyncFunction":  {"no code from strings", `(async () => 1).constructor('return 1')`, engines.Failed, "sync.js:2:17: TypeError: code can't be made from strings"},
		"generator":      {"no code from strings", `(function* () {}).constructor('yield 1')`, engines.Failed, "sync.js:2:19: TypeError: code can't be made from strings"},
		"endless":        {"the deadline holds", `for (;;);`, engines.Timeout, "sync.js:"},
		"uncatchable":    {"no script can go on after its deadline", `for (;;) try { for (;;); } catch { continue } finally { continue }`, engines.Timeout, "sync.js:"},
		"endless jobs":   {"the deadline holds for promises", `const f = () => Promise.resolve().then(f); return f()`, engines.Timeout, ""},
		"looping thrown": {"the deadline holds for writing errors down", `throw new Proxy({}, {get() { for (;;); }, ownKeys() { for (;;); }})`, engines.Timeout, "sync.js:2:1: "},
		"looping text":   {"the deadline holds for writing errors down", `const e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;); }}); throw e`, engines.Timeout, "sync.js:2:"},
		"looping class":  {"the deadline holds for finding out what was thrown", `throw new Proxy({}, {getPrototypeOf() { for (;;); }})`, engines.Timeout, "sync.js:2:1: "},
		"revoked proxy":  {"nothing can be found out of it", `const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); throw proxy`, engines.Failed, "sync.js:2:60: threw a value that can't be shown"},
		"goja's defect":  {"it names who failed", `Array.prototype.findLast.call({length: 1}, isNaN)`, engines.Failed, "the JavaScript engine failed: runtime error"},
		"throwing text":  {"an error can fail to be written down", `throw {get a() { throw 1 }}`, engines.Failed, "sync.js:2:1: threw a value that can't be shown"},
		"recursion":      {"the stack is bounded", `const f = () => f() + 1; f()`, engines.Exhausted, "sync.js:2:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			patience := time.Minute
			if c.kind == engines.Timeout {
				patience = 50 * time.Millisecond
			}
			_, got := run(t, script("exports.sync = function sync(request) {\n"+c.body+"\n}"), map[string]any{}, patience)
			if got == nil || got.Kind != c.kind || !strings.HasPrefix(got.Error(), c.want) {
				t.Errorf("error\n%v, want one of kind %s that starts with\n%s", got, c.kind.Reason(), c.want)
			}
		})
	}
}

func TestStack(t *testing.T) {
	src := files("sync.ts", map[string]string{
		"sync.ts":      "import { check } from './lib/check';\n\ninterface Request { n: number }\n\nexport function sync(request: Request) {\n  return check(request.n);\n}",
		"lib/check.ts": "type N = number;\n\nexport const check = (n: N) => {\n  if (n > 0) throw new RangeError(`too many: ${n}`);\n};",
	})
	_, got := run(t, src, map[string]any{"n": int64(3)}, time.Minute)
	want := &engines.Error{
		Kind:     engines.Failed,
		Location: engines.Location{File: "lib/check.ts", Line: 4, Column: 20},
		Message:  "RangeError: too many: 3",
		Stack:    []string{"at check (lib/check.ts:4:20)", "at sync (sync.ts:6:10)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestLogsComeWithAnError(t *testing.T) {
	response, failure := run(t, script(`export function sync() { console.log('before'); Date.now(); throw 1 }`), map[string]any{}, time.Minute)
	want := engines.Response{Logs: []string{"before"}, TimeDependent: true}
	if diff := cmp.Diff(want, response); diff != "" || failure == nil {
		t.Errorf("error %v, response (-want +got):\n%s", failure, diff)
	}
}
