package merge

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

func TestRecords(t *testing.T) {
	cases := map[string]struct {
		reason, text, desired string
		want                  bool
	}{
		"Same":           {reason: "the same is the same", text: `{"a":1,"b":[true,"x",{}],"c":{"d":0.5}}`, desired: `{"a":1,"b":[true,"x",{}],"c":{"d":0.5}}`, want: true},
		"Empty":          {reason: "nothing is nothing", text: `{}`, desired: `{}`, want: true},
		"NullDesired":    {reason: "null is as good as absent", text: `{"a":1}`, desired: `{"a":1,"b":null}`, want: true},
		"NullRecorded":   {reason: "null is as good as absent", text: `{"a":1,"b":null}`, desired: `{"a":1}`, want: true},
		"Float":          {reason: "1.0 is written as 1", text: `{"a":1}`, desired: `{"a":1.0}`, want: true},
		"Escaped":        {reason: "Go escapes angle brackets", text: `{"\u003ca":"\u003e\n"}`, desired: `{"<a":">\n"}`, want: true},
		"GoStatus":       {reason: "Go programs write empty fields", text: `{"a":1,"metadata":{"creationTimestamp":null,"name":"x"},"status":{}}`, desired: `{"a":1,"metadata":{"name":"x"}}`, want: true},
		"InnerStatus":    {reason: "elsewhere a status is managed", text: `{"a":{"status":{}}}`, desired: `{"a":{}}`},
		"More":           {reason: "more is not the same", text: `{"a":1,"b":2}`, desired: `{"a":1}`},
		"Less":           {reason: "less is not the same", text: `{"a":1}`, desired: `{"a":1,"b":2}`},
		"Value":          {reason: "another value", text: `{"a":1}`, desired: `{"a":12}`},
		"Prefix":         {reason: "a number must end where it ends", text: `{"a":12}`, desired: `{"a":1}`},
		"Type":           {reason: "another type", text: `{"a":"1"}`, desired: `{"a":1}`},
		"ListShorter":    {reason: "a shorter list", text: `{"a":[1]}`, desired: `{"a":[1,2]}`},
		"ListLonger":     {reason: "a longer list", text: `{"a":[1,2]}`, desired: `{"a":[1]}`},
		"Unordered":      {reason: "what we would not write needs a closer look", text: `{"b":1,"a":1}`, desired: `{"a":1,"b":1}`},
		"Repeated":       {reason: "a repeated field must not count twice", text: `{"a":1,"a":1}`, desired: `{"a":1,"b":1}`},
		"Spaces":         {reason: "what we would not write needs a closer look", text: `{"a": 1}`, desired: `{"a":1}`},
		"Trailing":       {reason: "nothing may follow", text: `{"a":1}}`, desired: `{"a":1}`},
		"Cut":            {reason: "half of it is nothing", text: `{"a":"b`, desired: `{"a":"b"}`},
		"CutEscape":      {reason: "half of it is nothing", text: `{"a":"b\`, desired: `{"a":"b"}`},
		"ControlLetters": {reason: "a string has no raw control letters", text: "{\"a\":\"\n\"}", desired: `{"a":"\n"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var desired map[string]any
			if err := kjson.Unmarshal([]byte(tc.desired), &desired); err != nil {
				t.Fatal(err)
			}
			if got := records(tc.text, desired); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

// FuzzRecords checks that reading an annotation beside the desired object never
// says that they are the same where decoding it says that they are not, and that
// it recognises what encode writes.
func FuzzRecords(f *testing.F) {
	f.Add(`{"a":1,"b":["x"]}`, `{"a":1,"b":["x"]}`)
	f.Add(`{"metadata":{"uid":null},"status":{}}`, `{"metadata":{}}`)
	f.Add(`{"a":1e3}`, `{"a":1000}`)
	f.Fuzz(func(t *testing.T, text, desired string) {
		var want, last map[string]any
		if !utf8.ValidString(text) || kjson.Unmarshal([]byte(desired), &want) != nil {
			t.Skip()
		}
		want = Managed(want)
		if records(text, want) {
			if err := json.Unmarshal([]byte(text), &last); err != nil {
				t.Fatalf("%s is no JSON: %v", text, err)
			}
			if err := kjson.Unmarshal([]byte(text), &last); err != nil || !recorded(Managed(last), want) {
				t.Fatalf("%s is not %s", text, desired)
			}
		}
		if encoded, err := encode(want, annotationBytes); err != nil || !records(encoded, want) && !exponents(want) {
			t.Fatalf("%s is not recognised as %s: %v", encoded, desired, err)
		}
	})
}

// exponents reports whether a number in v may be written with an exponent, which
// is read by decoding.
func exponents(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if exponents(field) {
				return true
			}
		}
	case []any:
		if slices.ContainsFunc(v, exponents) {
			return true
		}
	case float64:
		return v >= 1e15 || v <= -1e15 || v < 1e-6 && v > -1e-6
	}
	return false
}
