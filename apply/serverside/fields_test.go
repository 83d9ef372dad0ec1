package serverside

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
)

// fieldsOf reads a record of FieldsV1.
func fieldsOf(t testing.TB, text string) map[string]any {
	t.Helper()
	return applytest.Parse(t, []byte(text)).Object
}

func TestHolds(t *testing.T) {
	cases := map[string]struct {
		reason, fields, value string
		// seen is what the object has, if it is not the value itself.
		seen string
		want bool
	}{
		"Scalar":         {reason: "a field is held", fields: `{"f:a": {}}`, value: `{"a": 1}`, want: true},
		"Missing":        {reason: "a field is not held", fields: `{"f:b": {}}`, value: `{"a": 1}`},
		"More":           {reason: "more may be held", fields: `{"f:a": {}, "f:b": {}}`, value: `{"a": 1}`, want: true},
		"Null":           {reason: "a null is no field", fields: `{"f:a": {}}`, value: `{"a": 1, "b": null}`, want: true},
		"Empty":          {reason: "nobody holds an empty list whose items have keys", fields: `{"f:a": {}}`, value: `{"a": 1, "b": [], "c": {}}`, want: true},
		"EmptyText":      {reason: "an empty text is held", fields: `{"f:a": {}}`, value: `{"a": 1, "b": ""}`},
		"Whole":          {reason: "what is held as a whole is held with all in it", fields: `{"f:a": {}}`, value: `{"a": {"b": [1, {"c": 2}]}}`, want: true},
		"WholeDefaulted": {reason: "what is held as a whole may have defaults", fields: `{"f:a": {}}`, value: `{"a": {"b": 1}}`, seen: `{"a": {"b": 1, "c": 2}}`, want: true},
		"AllLost":        {reason: "of what is held field by field, itself is left when all are lost", fields: `{"f:a": {}}`, value: `{"a": {"b": 1, "c": 1}}`, seen: `{"a": {"b": 2, "c": 2}}`},
		"AllLostInItem":  {reason: "the same in an item", fields: `{"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:o": {}}}}`, value: `{"l": [{"name": "a", "o": {"b": 1}}]}`, seen: `{"l": [{"name": "z"}, {"name": "a", "o": {"b": 2}}]}`},
		"AllLostInKeyed": {reason: "the same in an item with a longer key", fields: `{"f:l": {"k:{\"p\":1,\"q\":2}": {".": {}, "f:p": {}, "f:o": {}}}}`, value: `{"l": [{"p": 1, "o": {"b": 1}}]}`, seen: `{"l": [{"p": 1, "q": 3}, {"p": 1, "q": 2, "o": {"b": 2}}]}`},
		"WholeGone":      {reason: "what is held and is not there is not as it should be", fields: `{"f:a": {}}`, value: `{"a": {"b": 1}}`, seen: `{"x": 1}`},
		"Below":          {reason: "each field below counts", fields: `{"f:a": {"f:b": {}}}`, value: `{"a": {"b": 1, "c": 2}}`},
		"Itself":         {reason: "an element for the object itself is passed over", fields: `{"f:a": {".": {}, "f:b": {}}}`, value: `{"a": {"b": 1}}`, want: true},
		"Item":           {reason: "an item is found by its key", fields: `{"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:x": {}}}}`, value: `{"l": [{"name": "a", "x": 1}]}`, want: true},
		"OtherItem":      {reason: "each item counts", fields: `{"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}`, value: `{"l": [{"name": "a"}, {"name": "b"}]}`},
		"ItemsField":     {reason: "each field of an item counts", fields: `{"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}`, value: `{"l": [{"name": "a", "x": 1}]}`},
		"Escaped":        {reason: "a key may hold any text", fields: `{"f:l": {"k:{\"name\":\"a\\\"\\u003cb\"}": {".": {}, "f:name": {}}}}`, value: `{"l": [{"name": "a\"<b"}]}`, want: true},
		"NumberKey":      {reason: "a key may be a number", fields: `{"f:l": {"k:{\"id\":1}": {".": {}, "f:id": {}}}}`, value: `{"l": [{"id": 1}]}`, want: true},
		"DefaultKey":     {reason: "a part of a key that is left out has its default", fields: `{"f:l": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:x": {}}, "k:{\"port\":1,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}`, value: `{"l": [{"port": 1, "x": 1}, {"port": 1, "protocol": "UDP"}]}`, want: true},
		"OtherPart":      {reason: "a part of a key that is given counts", fields: `{"f:l": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}`, value: `{"l": [{"port": 1, "protocol": "SCTP"}]}`},
		"NoKey":          {reason: "an item without any of the key is another", fields: `{"f:l": {"k:{\"port\":1}": {".": {}}}}`, value: `{"l": [{"x": 1}]}`},
		"Set":            {reason: "scalars of a set are held one by one", fields: `{"f:s": {"v:\"a\"": {}, "v:2": {}}}`, value: `{"s": ["a", 2]}`, want: true},
		"OtherOfSet":     {reason: "each scalar of a set counts", fields: `{"f:s": {"v:\"a\"": {}}}`, value: `{"s": ["a", "b"]}`},
		"ScalarForItem":  {reason: "a scalar is no item", fields: `{"f:l": {"k:{\"name\":\"a\"}": {".": {}}}}`, value: `{"l": ["a"]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := Configuration{Fields: fieldsOf(t, tc.value)}
			seen := config.Fields
			if tc.seen != "" {
				seen = fieldsOf(t, tc.seen)
			}
			if got := config.HeldBy(fieldsOf(t, tc.fields), seen); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
	if (Configuration{Fields: map[string]any{"a": 1}}).HeldBy(nil, nil) {
		t.Error("nothing holds something")
	}
}

func TestRestrict(t *testing.T) {
	fields := fieldsOf(t, `{"f:whole": {}, "f:o": {"f:a": {}, "f:gone": {}}, "f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}, "f:s": {"v:\"a\"": {}}, "f:e": {".": {}}}`)
	value := fieldsOf(t, `{"whole": {"x": [1]}, "o": {"a": 1, "b": 2}, "l": [{"name": "b"}, {"name": "a", "x": 1}], "s": ["b", "a"], "e": {"x": 1}, "other": 1}`)
	want := fieldsOf(t, `{"whole": {"x": [1]}, "o": {"a": 1}, "l": [{"name": "a"}], "s": ["a"], "e": {}}`)
	if diff := cmp.Diff(any(want), Restrict(fields, value)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestWithin(t *testing.T) {
	fields := fieldsOf(t, `{"f:a": {}, "f:b": {}, "f:m": {"f:x": {}}, "f:o": {".": {}, "f:p": {}, "f:q": {}}, "f:d": {"f:e": {}}, "f:l": {"k:{\"n\":1}": {".": {}, "f:n": {}, "f:z": {}}, "k:{\"n\":2}": {".": {}}}, "f:s": {"v:1": {}, "v:2": {}}}`)
	value := fieldsOf(t, `{"a": 1, "m": {"y": 1}, "o": {"p": 1}, "d": "`+merge.Digest("x")+`", "l": [{"n": 1}], "s": [2], "never": 1}`)
	want := fieldsOf(t, `{"f:a": {}, "f:o": {".": {}, "f:p": {}}, "f:d": {"f:e": {}}, "f:l": {"k:{\"n\":1}": {".": {}, "f:n": {}}}, "f:s": {"v:2": {}}}`)
	if diff := cmp.Diff(want, Within(fields, value)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}
