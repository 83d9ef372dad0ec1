package javascript

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// TestReadBeforeSet loads modules that read what another module, or they themselves, set later.
func TestReadBeforeSet(t *testing.T) {
	const around = ": b.ts, sync.ts import each other: move what they share into a file without such imports"
	for name, c := range map[string]struct {
		reason, sync, b, failure string
		want                     any
	}{
		"constant": {"the entry runs last", `export const a = 1`, `import { a } from "./sync"; export const b = a + 1`,
			"b.ts:1:46: ReferenceError: a is read before it is set" + around, nil},
		"renamed": {"the author's name is told", `export let a = 1`, `import { a as x } from "./sync"; export const b = { x }`,
			"b.ts:1:53: ReferenceError: x is read before it is set" + around, nil},
		"class": {"a class is set as a constant is", `export class A {}`, `import { A } from "./sync"; export const b = 1; class B extends A {}; new B()`,
			"b.ts:1:65: ReferenceError: A is read before it is set" + around, nil},
		"default": {"so is a default export", `export default { a: 1 }`, `import a from "./sync"; export const b = a`,
			"b.ts:1:42: ReferenceError: a is read before it is set" + around, nil},
		"in a call": {"the function is there already", `const a = 1; export function f() { return a }`, `import { f } from "./sync"; export const b = f()`,
			"sync.ts:1:43: ReferenceError: a is read before it is set" + around, nil},
		"alone": {"no other file has to do with it", ``, `export const b = a; const a = 1`,
			"b.ts:1:18: ReferenceError: a is read before it is set: declare it further up", nil},
		"later":    {"a circle does no harm to what is read when the hook runs", `export const a = 1`, `import { a } from "./sync"; export const b = 1; export const f = () => a`, "", int64(1)},
		"function": {"functions are there from the start", `export function f() { return 1 }`, `import { f } from "./sync"; export const b = f()`, "", int64(1)},
		"var":      {"it is undefined until then, in the language too", ``, `export const b = typeof a; var a = 1`, "", "undefined"},
		"enum":     {"TypeScript makes a variable of it that reads itself", ``, `const enum A { x = 2 } export enum B { y = A.x } export const b = B.y`, "", int64(2)},
		"merged":   {"and a class that is a namespace too", ``, `class A {} namespace A { export const x = 1 } export const b = (A as any).x`, "", int64(1)},
		"pattern":  {"several are set at once", ``, `const [{ p, ...q }, r = p] = [{ p: 1 }]; export let b; b = r + Object.keys(q).length`, "", int64(1)},
		"itself":   {"a class may name itself", ``, `class A { static x = 1; static y = A.x; static { A.y++ } } export const b = A.y`, "", int64(2)},
		"names": {"names that the bundle has itself are the author's to take", ``,
			`const { module } = { module: 1 }, exports = 2; const librettoCall = 3; export const b = module + exports + librettoCall`, "", int64(6)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script(c.sync + `; import { b } from "./b"; export const sync = () => b`)
			src.Script.Path, src.Script.Files = "sync.ts", engines.Files{"sync.ts": src.Script.Files[src.Script.Path], "b.ts": c.b}
			program, err := engine{}.Compile(t.Context(), src)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.failure {
				t.Fatalf("it loads with %q, want %q", got, c.failure)
			}
			if err != nil {
				return
			}
			response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}})
			if diff := cmp.Diff(c.want, response.Body); diff != "" || err != nil {
				t.Errorf("answer (-want +got):\n%s%v", diff, err)
			}
		})
	}
}
