package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHostModule imports the host's own module in all ways. What its functions answer is
// the matter of package test/contract.
func TestHostModule(t *testing.T) {
	cases := map[string]struct {
		reason, path string
		files        map[string]string
	}{
		"names":          {"as ES modules import", "a.js", map[string]string{"a.js": `import { ordinalOf } from "libretto"; export const sync = () => ordinalOf("a-1", "a") === 1 && "ok"`}},
		"all":            {"under one name", "a.mjs", map[string]string{"a.mjs": `import * as libretto from "libretto"; export const sync = () => libretto.hash({}).length === 16 && "ok"`}},
		"require":        {"as CommonJS imports", "a.cjs", map[string]string{"a.cjs": `const { hash } = require("libretto"); exports.sync = () => hash(1) && "ok"`}},
		"types":          {"types are not imported in earnest", "a.ts", map[string]string{"a.ts": `import { type CompositeRequest, hash, Condition } from "libretto"; export const sync = (r: CompositeRequest, c?: Condition) => hash(1) && "ok"`}},
		"from a folder":  {"the name is the same everywhere", "a.js", map[string]string{"a.js": `export { sync } from "./lib/b"`, "lib/b.js": `import { hash } from "libretto"; export const sync = () => hash(1) && "ok"`}},
		"own file":       {"a file of that name is meant by a path alone", "libretto.js", map[string]string{"libretto.js": `import { hash } from "libretto"; export const sync = () => hash(1) && "ok"`}},
		"own file's":     {"and can be imported by that", "a.js", map[string]string{"a.js": `import { ok } from "./libretto"; export const sync = () => ok`, "libretto.js": `export const ok = "ok"`}},
		"name is taken":  {"a script may have a variable of any name", "a.js", map[string]string{"a.js": `import { hash } from "libretto"; const librettoCall = 1; export const sync = () => hash(librettoCall) !== hash(2) && "ok"`}},
		"odd file's":     {"no file of the tree can be taken for it", "a.js", map[string]string{"a.js": `import { hash } from "libretto"; import text from "./<libretto>"; export const sync = () => hash(1) && text`, "<libretto>": "ok"}},
		"dynamic import": {"it is in the bundle already", "a.js", map[string]string{"a.js": `export const sync = async () => (await import("libretto")).hash(1) && "ok"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(any("ok"), answer(t, files(c.path, c.files), map[string]any{})); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetConditionReadsNoClockInVain(t *testing.T) {
	src := script(`
		import { setCondition } from "libretto";
		export function sync({ status }) {
			const old = [{ type: "A", status: "True", lastTransitionTime: "then" }];
			return setCondition(old, { type: "A", status }, () => new Date().toISOString());
		}`)
	for status, want := range map[string]struct {
		timeDependent bool
		time          string
	}{
		"True":  {false, "then"},
		"False": {true, now.UTC().Format("2006-01-02T15:04:05.000Z")},
	} {
		response, failure := run(t, src, map[string]any{"status": status}, time.Minute)
		if failure != nil {
			t.Fatal(failure.Detail())
		}
		if response.TimeDependent != want.timeDependent {
			t.Errorf("status %s: time-dependent is %v, want %v", status, response.TimeDependent, want.timeDependent)
		}
		wanted := []any{map[string]any{"type": "A", "status": status, "lastTransitionTime": want.time}}
		if diff := cmp.Diff(any(wanted), response.Body); diff != "" {
			t.Errorf("status %s (-want +got):\n%s", status, diff)
		}
	}
}

func TestHashFails(t *testing.T) {
	for name, c := range map[string]struct{ reason, value, want string }{
		"undefined": {"a slip must not have a hash", `undefined`, "TypeError: hash: the value is undefined"},
		"function":  {"nor a function", `() => 1`, "TypeError: hash: the value is a function: call it, or leave it out"},
		"cycle":     {"what holds itself has no end", `(() => { const a = {}; a.b = { a }; return a })()`, "TypeError: hash: b.a: holds itself"},
		"map":       {"a Map would look empty", `{ a: new Map() }`, "TypeError: hash: a: is a Map: use Object.fromEntries(map)"},
		"NaN":       {"JSON has none", `[NaN]`, "TypeError: hash: [0]: is NaN, which is no number in JSON"},
		"getter":    {"the script's own errors stay", `{ get a() { throw new Error("mine") } }`, "mine"},
		"toJSON":    {"also there", `{ toJSON() { throw new Error("mine") } }`, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script("import { hash } from 'libretto';\nexport function sync() {\n  const value = " + c.value + ";\n  try { hash(value) } catch (e) { console.log(String(e)) }\n  return hash(value);\n}")
			response, failure := run(t, src, map[string]any{}, time.Minute)
			if failure == nil || failure.Message != c.want || failure.Location.File != "sync.js" {
				t.Fatalf("error %v, want %q in sync.js", failure, c.want)
			}
			if len(response.Logs) != 1 || !strings.HasSuffix(response.Logs[0], c.want) {
				t.Errorf("caught %q, want %q", response.Logs, c.want)
			}
		})
	}
	_, failure := run(t, script("import { hash } from 'libretto'; export const sync = () => { try { hash({ toJSON() { for (;;); } }) } catch {} return 1 }"), map[string]any{}, 100*time.Millisecond)
	if failure == nil || failure.Kind.Reason() != "HookTimedOut" {
		t.Errorf("an endless toJSON: %v, want a timeout", failure)
	}
}
