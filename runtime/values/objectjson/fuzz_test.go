package objectjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// seeds are texts whose decoding is easily wrong.
func seeds() []string {
	all := []string{
		podText, configMapText,
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"A"},{},{"metadata":{"name":"a","namespace":"b"}}],"metadata":{"continue":"x"}}`,
		`{"apiVersion":"v1","items":[{"a":1}],"kind":"PodList"}`,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Expired","code":410}`,
		``, ` `, `null`, `[]`, `1`, `"a"`, `{}`, `{"kind":""}`, `{"kind":1}`, `{"kind":null}`, `{"kind":"A"} x`, `{"kind":"A"}{}`, "\ufeff{\"kind\":\"A\"}",
		`{"kind":"A",}`, `{"kind":"A","a":[1,]}`, `{"kind":"A","a":[,]}`, `{kind:"A"}`, `{"kind" "A"}`, `{"kind":"A"`, `{"kind":"A`, `{"kind":"A","a":tru}`,
		`{"kind":"A","a":1,"a":2}`, `{"kind":"A","a":{"b":1,"b":1}}`, `{"kind":"A","a":{"b":1},"a":{"c":2}}`, `{"kind":"A","kind":"B"}`,
		`{"kind":"A","metadata":{"managedFields":[{"manager":"m"}],"managedFields":null}}`, `{"kind":"A","metadata":{"managedFields":{}}}`,
		`{"kind":"A","metadata":null}`, `{"kind":"A","metadata":1}`, `{"kind":"A","metadata":[]}`, `{"kind":"A","metadata":{"name":1,"namespace":[]}}`,
		`{"kind":"A","metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}},"operation":"Apply","time":"now","fieldsType":"FieldsV1"},1]}}`,
		"{\"kind\":\"A\\u0000\",\"a\":\"\x00\"}", "{\"kind\":\"A\",\"a\":\"\n\"}", "{\"kind\":\"A\",\"\xff\":\"\xc3\x28 \xe2\x82\"}", `{"kind":"A","é":"日本語 😀"}`,
		`{"kind":"A","a":"\ud83d\ude00 \ud83d \ude00 \ud83d\ud83d\ude00 \uD83Dx \u12"}`, `{"kind":"A","a":"\ud83d\u0041"}`, `{"kind":"A","a":"\b\f\n\r\t\/\\\"\q"}`,
		"{\"kind\":\"A\",\"a\":\"\\\n\"}", "\t{\r\n \"kind\" :\t\"A\" , \"a\" : [ 1 , { } ] }\n",
	}
	for _, number := range []string{
		"0", "-0", "00", "01", "-", "+1", "1.", ".5", "1.0", "-0.0", "1e5", "1E+5", "1e", "1e-", "1.5e-3", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "999999999999999999", "-999999999999999999", "1e308", "1e309", "1e-999", "NaN", "0x1", "1_0",
		"123456789012345678901234567890", "1 2", "1a",
	} {
		all = append(all, `{"kind":"A","a":`+number+`}`, `{"kind":"A","a":[`+number+`,-1]}`)
	}
	for _, depth := range []int{100, 9998, 9999, 10000, 10001} {
		all = append(all, `{"kind":"A","a":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+`}`)
	}
	return all
}

// FuzzDecode checks that objects are decoded as by package unstructured, whole, in a stream, and as items of a list:
// equal values, or errors on both sides. There is one difference: managedFields are absent, and what they hold need
// not make sense as long as it is JSON.
func FuzzDecode(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	in := NewInterner()
	f.Fuzz(func(t *testing.T, data []byte) {
		var object unstructured.Unstructured
		wantErr := object.UnmarshalJSON(bytes.Clone(data))
		want := object.Object
		if wantErr == nil {
			dropManagedFields(want)
		}
		got, err := Decode(data, Options{})
		compare(t, "Decode", want, got, wantErr, err)
		shared, err := Decode(data, Options{Interner: in})
		compare(t, "with an interner", want, shared, wantErr, err)
		known, err := Decode(data, Options{Interner: in, Previous: func(string, string) map[string]any { return shared }})
		compare(t, "with its previous version", want, known, wantErr, err)
		compare(t, "the previous version afterwards", want, shared, wantErr, nil)
		if wantErr == nil || !bytes.ContainsAny(data, "{}") {
			text := `{"type":"ADDED","object":` + string(data) + "}\n"
			event, err := NewDecoder(iotest.OneByteReader(strings.NewReader(text)), Options{Interner: in}).Event()
			compare(t, "in an event", want, event.Object, wantErr, err)
		}
		compareLists(t, data, in)
		if wantErr == nil && object.UnmarshalJSON(data) == nil {
			compareKept(t, &object, in)
		}
	})
}

// compareKept compares the decoding of an object with all of its managedFields. It is encoded anew, so that no field comes twice.
func compareKept(t *testing.T, object *unstructured.Unstructured, in *Interner) {
	t.Helper()
	text, err := json.Marshal(object.Object)
	if err != nil || object.UnmarshalJSON(text) != nil {
		t.Fatalf("%s: %v", text, err)
	}
	keep := func(string, string, string) bool { return true }
	got, err := Decode(text, Options{Interner: in, KeepManagedFields: keep})
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, entry := range entries {
		if entry, ok := entry.(map[string]any); ok {
			delete(entry, "time")
			delete(entry, "fieldsType")
			kept = append(kept, entry)
		}
	}
	dropManagedFields(object.Object)
	if len(kept) > 0 {
		metadata["managedFields"] = kept
	}
	compare(t, "with managedFields", object.Object, got, nil, err)
}

func dropManagedFields(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
}

func compare(t *testing.T, how string, want, got map[string]any, wantErr, err error) {
	t.Helper()
	if (wantErr == nil) != (err == nil && got != nil) {
		t.Fatalf("%s: the error is %v, that of unstructured %v", how, err, wantErr)
	}
	if wantErr == nil && !reflect.DeepEqual(want, got) {
		t.Fatalf("%s (-unstructured, +got):\n%s", how, cmp.Diff(want, got))
	}
}

// compareLists compares lists, if data is one.
func compareLists(t *testing.T, data []byte, in *Interner) {
	t.Helper()
	want := &unstructured.UnstructuredList{}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(bytes.Clone(data), nil, want); err != nil || want.Items == nil {
		return
	}
	list, items, err := NewDecoder(iotest.HalfReader(bytes.NewReader(data)), Options{Interner: in}).List()
	if err != nil {
		return // It has no items, or items that are no objects: unstructured takes that for an empty list and for empty objects.
	}
	if diff := cmp.Diff(want.Object["metadata"], list["metadata"]); diff != "" {
		t.Fatalf("metadata of the list (-unstructured, +got):\n%s", diff)
	}
	if len(items) != len(want.Items) {
		t.Fatalf("%d items, want %d", len(items), len(want.Items))
	}
	for i := range items {
		dropManagedFields(want.Items[i].Object)
		compare(t, "as an item of a list", want.Items[i].Object, items[i], nil, nil)
	}
}
