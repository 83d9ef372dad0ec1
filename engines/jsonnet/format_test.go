package jsonnet

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vm "github.com/google/go-jsonnet"
)

// reference evaluates an expression by go-jsonnet alone, which has std.format in
// Jsonnet. It returns the value, or the error's message after "error: ".
func reference(t *testing.T, expression string) any {
	t.Helper()
	text, err := vm.MakeVM().EvaluateAnonymousSnippet("reference", expression)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return "error: " + strings.TrimPrefix(first, "RUNTIME ERROR: ")
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// engineGives evaluates an expression as the engine does.
func engineGives(t *testing.T, expression string) any {
	t.Helper()
	response, failure := run(t, script("function(request) "+expression), nil, time.Minute)
	if failure != nil {
		return "error: " + failure.Message
	}
	if n, ok := response.Body.(int64); ok {
		return float64(n)
	}
	return response.Body
}

// forms are the ways to write a format down, of which some are inlined.
var forms = map[string]string{
	"percent":   "%s %% %s",
	"call":      "std.format(%s, %s)",
	"variables": "local f = %s, v = %s; f %% v",
	"alias":     "local f = std.format; f(%s, %s)",
	"name":      "local v = %[2]s; %[1]s %% v",
	"fields":    "local o = { f: %s, v: %s }; o.f %% o.v",
	"part":      "local o = { v: %[2]s }; %[1]s %% o.v",
}

func TestFormat(t *testing.T) {
	const same = "it is what std.format gives"
	cases := map[string]struct{ reason, format, values string }{
		"text":                   {same, `'text'`, `[]`},
		"empty":                  {same, `''`, `[]`},
		"one text":               {same, `'a-%s-b'`, `'x'`},
		"one number":             {same, `'%d'`, `7`},
		"one null":               {same, `'%s'`, `null`},
		"one boolean":            {same, `'%s'`, `true`},
		"list of one":            {same, `'%s'`, `['x']`},
		"list in a list":         {same, `'%s'`, `[['x', 1, { a: [] }]]`},
		"several":                {same, `'%s-%d/%s'`, `['a', 3, null]`},
		"percent sign":           {same, `'100%% of %s'`, `['a']`},
		"padded percent":         {same, `'%5%|%-5%|'`, `[]`},
		"object":                 {same, `'%(a)s-%(b)d'`, `{ a: 'x', b: 2 }`},
		"hidden field":           {same, `'%(a)s'`, `{ a:: 'x' }`},
		"field of self":          {same, `'%(a)s'`, `{ a: 'x', b: error 'not asked for' }`},
		"recursive":              {same, `'%(a)s'`, `{ a: 'x', b: '%(a)s!' % self }.b`},
		"inherited":              {same, `'%(a)s'`, `{ a: 'x' } + { a+: 'y' }`},
		"keys with a list":       {same, `'%(a)s'`, `['x']`},
		"keys with one":          {same, `'%(a)s'`, `'x'`},
		"same key twice":         {same, `'%(a)s%(a)s'`, `{ a: 1 }`},
		"odd keys":               {same, `'%(a b)s%()s'`, `{ 'a b': 1, '': 2 }`},
		"object as text":         {same, `'%s'`, `[{ b: 1, a: [1.5, "q\"\n\u0001é"], h:: 2 }]`},
		"empty object":           {same, `'%s %s'`, `[{}, []]`},
		"function":               {same, `'%s'`, `function(x) x`},
		"function in a list":     {same, `'%s'`, `[function(x) x]`},
		"too few":                {same, `'%s %s'`, `['a']`},
		"too many":               {same, `'%s'`, `['a', 'b']`},
		"none wanted":            {same, `'x'`, `'a'`},
		"missing key":            {same, `'%(b)s'`, `{ a: 1 }`},
		"no key":                 {same, `'%s'`, `{ a: 1 }`},
		"text as number":         {same, `'%s %d'`, `['a', 'b']`},
		"key as number":          {same, `'%(a)d'`, `{ a: 'b' }`},
		"truncated":              {same, `'%'`, `[]`},
		"truncated flags":        {same, `'%-0'`, `[1]`},
		"truncated key":          {same, `'%(a'`, `{ a: 1 }`},
		"unknown code":           {same, `'%q'`, `[1]`},
		"no format":              {same, `{}`, `[1]`},
		"number for a format":    {same, `7`, `3`},
		"negative remainder":     {same, `-7`, `3`},
		"by zero":                {same, `7`, `0`},
		"number and text":        {same, `7`, `'a'`},
		"error in a value":       {same, `'%s'`, `[error 'boom']`},
		"error in a number":      {same, `'%d'`, `[error 'boom']`},
		"first of two errors":    {same, `'%s %d'`, `[error 'boom', 'x']`},
		"unread precision":       {same, `'%.*s'`, `[error 'not asked for', 'x']`},
		"error before the count": {same, `'%s %s'`, `[error 'boom']`},
		"width from values":      {same, `'%*d|%-*d|%.*f'`, `[5, 1, 5, 2, 1, 3.14159]`},
		"width with an object":   {same, `'%(a)*d'`, `{ a: 1 }`},
		"precision, object":      {same, `'%(a).*d'`, `{ a: 1 }`},
		"bad width":              {same, `'%*d'`, `['5', 1]`},
		"fractional width":       {same, `'%*d'`, `[2.5, 1]`},
		"length modifiers":       {same, `'%hd%ld%Ls'`, `[1, 2, 3]`},
		"wide":                   {same, `'%120d'`, `[1]`},
		"characters":             {same, `'%c%c%3c|%-3c|'`, `[65, 'é', 'x', 'y']`},
		"long character":         {same, `'%c'`, `['ab']`},
		"no character":           {same, `'%c'`, `[null]`},
		"code point too large":   {same, `'%c'`, `[1114112]`},
		"overflow":               {same, `'%f'`, `[1e308]`},
		"unicode padding":        {same, `'%5s|%-5s|'`, `['é', '世界']`},
		"nested":                 {same, `'%s-%s'`, `['%d' % 1, '%(a)s' % { a: '%s' % 'x' }]`},
		"nested in one":          {same, `'<%s>'`, `'[%s]' % '%d' % 5`},
		"shadowed std":           {"the script's own is called", `'%s'`, `(local std = { format(a, b): 'mine' }; [std.format('%s', [1])])`},
		"own mod":                {"the script's own is called", `'%s'`, `(local std = { mod(a, b): 'mine' }; [std.mod('%s', [1])])`},
		"std of a parameter":     {"the script's own is called", `'%s'`, `[(function(std) std.format('%s', [1]))({ format(a, b): 'mine' })]`},
		"std of an object":       {"the script's own is called", `'%s'`, `[{ local std = { format(a, b): 'mine' }, a: std.format('%s', [1]) }.a]`},
		"$ in an object":         {same, `'%(a)s'`, `{ a: 'x', b: '%(a)s!' % $ }.b`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			for form, text := range forms {
				expression := fmt.Sprintf(text, c.format, c.values)
				if diff := cmp.Diff(reference(t, expression), engineGives(t, expression)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", form, expression, diff)
				}
			}
		})
	}
}

// TestFormatOfFunction: a list that is not written where it is used is looked at as a
// whole, and a function refused as such.
func TestFormatOfFunction(t *testing.T) {
	for expression, want := range map[string]string{
		`'%d' % [function(x) x]`:                       "Format required number at 0, got function",
		`local v = [function(x) x]; '%s-%d' % ([1]+v)`: "couldn't manifest function as JSON",
	} {
		if got := engineGives(t, expression); got != "error: "+want {
			t.Errorf("%s: %v, want %s", expression, got, want)
		}
	}
}

// TestNestedFormats: an expression that is used in several places of what it is
// rewritten to is walked once.
func TestNestedFormats(t *testing.T) {
	expression := "1"
	for range 60 {
		expression = "std.length('%d-%s' % [" + expression + ", 'x'])"
	}
	if got := evaluate(t, expression, nil); got != int64(3) {
		t.Errorf("got %v, want 3", got)
	}
}

// numbers are where formats of numbers differ if they differ at all.
var numbers = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 0.05, 1.5, 2.5, -2.5, 0.999, 0.9999999, 9.995, 9.9999999, 99.5, 123.456, -123.456, 1e-5, 1.5e-7,
	0.0001, 0.00012345, 1e5, 123456, 1234567, 1e15, 1e16, 1 << 53, 1<<53 + 2, 1e20, 1.7e21, 1e22, 1e100, -1e-100, 5e-324, 1.7976931348623157e308, 255, 256, -255, 4095.9, 1e300,
}

func randomFormat(r *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('%')
	for range r.IntN(3) {
		b.WriteByte("#0- +"[r.IntN(5)])
	}
	if r.IntN(2) == 0 {
		fmt.Fprint(&b, r.IntN(14))
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, ".%d", r.IntN(9))
	}
	b.WriteByte("diuoxXeEfFgGcs%"[r.IntN(15)])
	return b.String()
}

// TestFormatNumbers compares thousands of formats of numbers, in one evaluation for many.
func TestFormatNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var formats, texts []string
		var values []float64
		for range 60 {
			f, v := randomFormat(r), numbers[r.IntN(len(numbers))]
			if r.IntN(3) == 0 {
				v = math.Round(r.NormFloat64()*math.Pow(10, float64(r.IntN(12)))*1000) / 1000
			}
			text, err := formatValues([]any{f, []any{v}[:min(1, formatTakes(f))]})
			if err != nil {
				t.Fatal(err)
			}
			if text != nil {
				formats, values, texts = append(formats, f), append(values, v), append(texts, text.(string))
			}
		}
		compare(t, formats, values, texts)
	}
}

func formatTakes(f string) int {
	count, _ := formatCount([]any{f})
	n, _ := count.(int)
	return n
}

func compare(t *testing.T, formats []string, values []float64, got []string) {
	t.Helper()
	var list strings.Builder
	for i, f := range formats {
		fmt.Fprintf(&list, "std.format(%q, [%s]),\n", f, []string{"", numberText(values[i])}[formatTakes(f)])
	}
	want, ok := reference(t, "["+list.String()+"]").([]any)
	if !ok {
		t.Fatalf("std.format refused one of\n%s", list.String())
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q of %v = %q, want %q", formats[i], values[i], got[i], want[i])
		}
	}
}

// FuzzFormat compares formats of any text with std.format.
func FuzzFormat(f *testing.F) {
	f.Add("%s-%05.2f|%(a)d", "x", 3.14159, uint(3))
	f.Add("%%%-+ #08x%c", "é", -1.5, uint(2))
	f.Add("%*.*d", "", 12.0, uint(4))
	shapes := []string{"[%s]", "[%s, %s]", "{ a: %s, b: %s }", "%s", "[%[2]s, %[1]s]", "[%[2]s, %[2]s, %[2]s]", "{ a: %[2]s }", "%[2]s"}
	f.Fuzz(func(t *testing.T, format, text string, number float64, shape uint) {
		if math.IsNaN(number) || math.IsInf(number, 0) || len(format) > 60 {
			t.Skip("no value of Jsonnet, or too long for std.format")
		}
		values := fmt.Sprintf(shapes[shape%uint(len(shapes))], quotedText(text), numberText(number))
		values, _, _ = strings.Cut(values, "%!(EXTRA")
		expression := quotedText(format) + " % " + values
		want := reference(t, expression)
		if want == "error: "+stackMessage {
			t.Skip("too long for std.format")
		}
		if diff := cmp.Diff(want, engineGives(t, expression)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	})
}

func quotedText(s string) string {
	return "@'" + strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "'", "''") + "'"
}
