package javascript

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// TestYieldInLoops counts how often loops yield, and that they do what they did.
func TestYieldInLoops(t *testing.T) {
	for _, example := range []struct {
		text, want string
		yields     int
	}{
		{`let s = ""; for (let n = 0; n < 3; n++) s += n; s`, "012", 3},
		{`let s = ""; for (const k in {a: 1, b: 2}) { s += k } s`, "ab", 2},
		{`let s = ""; const all = []; for (const k of [1, 2]) all.push(() => k); for (const f of all) s += f(); s`, "12", 4},
		{`let n = 0; while (true) { if (++n > 4) break } "" + n`, "5", 5},
		{`let n = 0; outer: do { for (;;) { if (n++ < 2) continue outer; break outer } } while (true); "" + n`, "3", 6},
		{`const twice = (f) => { f(); f() }; let s = ""; twice(function () { for (const k of "xy") s += k }); s`, "xyxy", 4},
		{`let s = ""; class A { static run() { for (var n = 0; n < 2; n++) s += n } } A.run(); s + n()
			function n() { let m = 0; while (m < 1) m++; return m }`, "011", 3},
		{`"none"`, "none", 0},
	} {
		parsed, err := parser.ParseFile(nil, "", example.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		yieldInLoops(parsed)
		code, err := goja.CompileAST(parsed, true)
		if err != nil {
			t.Fatal(err)
		}
		rt, yields := goja.New(), 0
		if err := rt.Set(yieldName, func() { yields++ }); err != nil {
			t.Fatal(err)
		}
		got, err := rt.RunProgram(code)
		if err != nil || got.String() != example.want || yields != example.yields {
			t.Errorf("%s: %v with %d yields, error %v, want %s with %d", strings.TrimSpace(example.text), got, yields, err, example.want, example.yields)
		}
	}
}
