package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProperties(t *testing.T) {
	const text = `aB1ß_Ωж中é-😀 	٣Ⅷ`
	cases := map[string]struct{ reason, pattern, want string }{
		"category":           {"letters of all scripts", `\p{L}`, `aBßΩж中é`},
		"long name":          {"a category by its name", `\p{Letter}`, `aBßΩж中é`},
		"two letters":        {"a part of one", `\p{Lu}`, `BΩ`},
		"with its kind":      {"as the standard names it", `\p{General_Category=Uppercase_Letter}`, `BΩ`},
		"short kind":         {"or for short", `\p{gc=Nd}`, `1٣`},
		"script":             {"the letters of one", `\p{Script=Greek}`, `Ω`},
		"short script":       {"or for short", `\p{sc=Cyrillic}`, `ж`},
		"not":                {"all others", `\P{L}`, "1_-😀 \t٣Ⅷ"},
		"in a class":         {"beside others", `[\p{Lu}\d_]`, `B1_Ω`},
		"not, in a class":    {"all others, beside some", `[\P{L}a]`, "a1_-😀 \t٣Ⅷ"},
		"negated class":      {"none of them", `[^\p{L}\p{N}]`, "_-😀 \t"},
		"ASCII":              {"the first 128", `\P{ASCII}`, `ßΩж中é😀٣Ⅷ`},
		"any":                {"all", `\p{Any}`, text},
		"assigned":           {"all that there are", `\p{Assigned}`, text},
		"alphabetic":         {"made of others", `\p{Alphabetic}`, `aBßΩж中éⅧ`},
		"lowercase":          {"made of others", `\p{Lowercase}`, `aßжé`},
		"identifiers":        {"made of others, without some", `\p{ID_Continue}`, `aB1ß_Ωж中é٣Ⅷ`},
		"white space":        {"of the table of properties", `\p{White_Space}`, " \t"},
		"beyond 16 bits":     {"symbols", `\p{So}`, `😀`},
		"escaped":            {"a backslash before is one", `\\p{L}|a`, `a`},
		"escaped bracket":    {"which begins no class", `\[|\p{Lu}`, `BΩ`},
		"with other letters": {"and case is ignored as ever", `(?:)\p{Lu}`, `BΩ`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			script := script(`export function sync({ text }) {
				const pattern = /` + c.pattern + `/gu, made = new RegExp(` + "String.raw`" + c.pattern + "`" + `, 'gu'), called = RegExp(` + "String.raw`" + c.pattern + "`" + `, 'gu');
				return [pattern, made, called].map((p) => (text.match(p) ?? []).join('')).concat(made instanceof RegExp, pattern.constructor === RegExp).join('|');
			}`)
			response, failure := run(t, script, map[string]any{"text": text}, time.Minute)
			if failure != nil {
				t.Fatal(failure.Detail())
			}
			want := strings.Join([]string{c.want, c.want, c.want, "true", "true"}, "|")
			if diff := cmp.Diff(any(want), response.Body); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownProperty(t *testing.T) {
	const message = `regular expressions know no property \p{Grek}: there are categories such as \p{Lu}`
	if _, err := (engine{}).Compile(t.Context(), script(`export const sync = () => 'a'.match(/\p{Grek}/u)`)); err == nil || !strings.Contains(err.Error(), "sync.js:1:37: "+message) {
		t.Errorf("the error of a literal is %v", err)
	}
	_, failure := run(t, script(`export const sync = () => new RegExp('\\p{Grek}', 'u')`), map[string]any{}, time.Minute)
	if failure == nil || !strings.Contains(failure.Message, "SyntaxError: "+message) {
		t.Errorf("the error of a text is %v", failure)
	}
	response, failure := run(t, script(`export const sync = () => [/\p{Grek}/.test('p{Grek}'), new RegExp('\\p{Grek}').test('p{Grek}')].join()`), map[string]any{}, time.Minute)
	if failure != nil || response.Body != "true,true" {
		t.Errorf("without the u flag it is text: %v, %v", response.Body, failure)
	}
}
