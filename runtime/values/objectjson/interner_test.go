package objectjson

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func decode(t *testing.T, text string, options Options) map[string]any {
	t.Helper()
	object, err := Decode([]byte(text), options)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// part returns the address of a map or list of an object.
func part(object map[string]any, path ...string) uintptr {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return reflect.ValueOf(value).Pointer()
}

const (
	podA = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}},
		"spec":{"host":"x","security":{"user":1,"groups":[1,2]},"volumes":[{"name":"data"},{"name":"a"}]}}`
	podB = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","labels":{"app":"web"}},
		"spec":{"host":"y","security":{"groups":[1,2],"user":1},"volumes":[{"name":"data"},{"name":"b"}]}}`
)

// TestSharing checks that equal parts of two objects are one instance, whatever the order of their fields.
func TestSharing(t *testing.T) {
	options := Options{Interner: NewInterner()}
	a, b := decode(t, podA, options), decode(t, podB, options)
	for _, object := range []struct {
		got  map[string]any
		text string
	}{{a, podA}, {b, podB}} {
		if diff := cmp.Diff(decode(t, object.text, Options{}), object.got); diff != "" {
			t.Errorf("sharing changed an object\n-want +got:\n%s", diff)
		}
	}
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "security"}, {"spec", "security", "groups"}} {
		if part(a, path...) != part(b, path...) {
			t.Errorf("%v is equal in both objects and is not shared", path)
		}
	}
	for _, path := range [][]string{{"metadata"}, {"spec"}, {"spec", "volumes"}} {
		if part(a, path...) == part(b, path...) {
			t.Errorf("%v is shared, though it differs", path)
		}
	}
	owned := decode(t, podA, Options{})
	if part(owned, "metadata", "labels") == part(decode(t, podB, Options{}), "metadata", "labels") {
		t.Error("without an interner, objects share parts")
	}
}

// TestPrevious checks that unchanged parts of an object are shared with its previous version, even if the interner has
// forgotten them.
func TestPrevious(t *testing.T) {
	options := Options{Interner: NewInterner()}
	before := decode(t, podA, options)
	for i := range 8 * maxSets {
		decode(t, fmt.Sprintf(`{"kind":"A","data":{"n":%d,"text":"t%d"}}`, i, i), options)
	}
	var asked string
	options.Previous = func(namespace, name string) map[string]any {
		asked = namespace + "/" + name
		return before
	}
	after := decode(t, strings.Replace(podA, `"x"`, `"z"`, 1), options)
	if asked != "/a" {
		t.Errorf("the previous version of %s is asked for, want that of /a", asked)
	}
	if before["spec"].(map[string]any)["host"] != "x" || after["spec"].(map[string]any)["host"] != "z" {
		t.Errorf("the objects have hosts %v and %v, want x and z", before["spec"], after["spec"])
	}
	for _, path := range [][]string{{"metadata"}, {"metadata", "labels"}, {"spec", "security"}, {"spec", "volumes"}} {
		if part(before, path...) != part(after, path...) {
			t.Errorf("%v did not change and is not shared", path)
		}
	}
	if same := decode(t, podA, options); part(same) != part(before) {
		t.Error("an object that did not change is not its previous version")
	}
}

// TestPreviousIsFound checks where name and namespace are looked for.
func TestPreviousIsFound(t *testing.T) {
	for name, tc := range map[string]struct{ reason, metadata, want string }{
		"Built-in":  {"fields in the order of Go's struct", `{"name":"a","namespace":"b","labels":{"name":"x"}}`, "b/a"},
		"Custom":    {"fields in alphabetical order", `{"annotations":{"namespace":"x"},"managedFields":[{"name":"y"}],"name":"a","namespace":"b"}`, "b/a"},
		"Cluster":   {"no namespace", `{"name":"a"}`, "/a"},
		"Escaped":   {"a name is a string of JSON", `{"name":"\u0061"}`, "/a"},
		"Nameless":  {"a bookmark has no name", `{"resourceVersion":"1"}`, ""},
		"Malformed": {"a name that is no string is none", `{"name":{"name":"a"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			options := Options{Interner: NewInterner(), Previous: func(namespace, name string) map[string]any {
				asked = namespace + "/" + name
				return nil
			}}
			decode(t, `{"kind":"A","metadata":`+tc.metadata+`}`, options)
			if asked != tc.want {
				t.Errorf("asked for %q, want %q: %s", asked, tc.want, tc.reason)
			}
		})
	}
}

// TestSharingKeepsValues checks that sharing changes no object, whatever its previous version.
func TestSharingKeepsValues(t *testing.T) {
	var before map[string]any
	options := Options{Interner: NewInterner(), Previous: func(string, string) map[string]any { return before }}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		metadata := map[string]any{"name": "a", "x": randomValue(random, 3)}
		text, _ := json.Marshal(map[string]any{"kind": "A", "metadata": metadata, "spec": randomValue(random, 4)})
		previous, _ := json.Marshal(before)
		object := decode(t, string(text), options)
		if got, _ := json.Marshal(object); string(got) != string(text) {
			t.Fatalf("%s became %s", text, got)
		}
		if got, _ := json.Marshal(before); string(got) != string(previous) {
			t.Fatalf("the previous version %s became %s", previous, got)
		}
		before = object
	}
}

// randomValue builds a small value out of few parts, so that many are equal.
func randomValue(random *rand.Rand, depth int) any {
	switch kind := random.IntN(6); {
	case kind < 2 && depth > 0:
		fields := map[string]any{}
		for range random.IntN(3) {
			fields[fmt.Sprint("f", random.IntN(2))] = randomValue(random, depth-1)
		}
		return fields
	case kind < 4 && depth > 0:
		items := []any{}
		for range random.IntN(3) {
			items = append(items, randomValue(random, depth-1))
		}
		return items
	default:
		return []any{int64(1), 1.5, "text", "1", true, nil}[random.IntN(6)]
	}
}

// TestInternerIsBounded checks that what an interner keeps does not grow with what it has seen.
func TestInternerIsBounded(t *testing.T) {
	in := NewInterner()
	long := strings.Repeat("x", 4000)
	for i := range 20_000 {
		text := fmt.Sprintf(`{"kind":"A","data":{"n":{"m":%d},"s":"s%d","list":["%s%d"],"huge":{"a":["%s"]}}}`, i, i, long, i, strings.Repeat("y", i))
		decode(t, text, Options{Interner: in})
	}
	for _, table := range []*table{&in.strings, &in.parts} {
		if table.bytes > maxPartsBytes || table.values > 2*maxSets || len(table.sets) > maxSets {
			t.Errorf("an interner keeps %d values of %d bytes in %d sets", table.values, table.bytes, len(table.sets))
		}
	}
	largest := 0
	for _, set := range in.parts.sets {
		for _, slot := range set {
			text, _ := json.Marshal(slot.value)
			largest = max(largest, len(text))
		}
	}
	if largest > maxPartBytes {
		t.Errorf("an interner keeps a part of %d bytes", largest)
	}
}

// TestKeepManagedFields checks which entries are kept, and that equal ones are shared.
func TestKeepManagedFields(t *testing.T) {
	entry := func(manager, operation, rest string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:%s":{}}},"manager":"%s","operation":"%s"%s}`,
			manager, manager, operation, rest)
	}
	text := func(name, time string) string {
		return fmt.Sprintf(`{"kind":"A","metadata":{"managedFields":[%s,%s,%s,%s,null,[]],"name":"%s"}}`,
			entry("us", "Apply", `,"time":"`+time+`"`), entry("us", "Update", ""), entry("others", "Apply", ""), entry("us", "Apply", `,"subresource":"status"`), name)
	}
	options := Options{Interner: NewInterner(), KeepManagedFields: func(manager, operation, subresource string) bool {
		return manager == "us" && operation == "Apply" && subresource == ""
	}}
	a, b := decode(t, text("a", "2024-05-01T12:00:00Z"), options), decode(t, text("b", "2025-05-01T12:00:00Z"), options)
	want := []any{map[string]any{
		"apiVersion": "v1", "manager": "us", "operation": "Apply",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:us": map[string]any{}}},
	}}
	if diff := cmp.Diff(want, a["metadata"].(map[string]any)["managedFields"]); diff != "" {
		t.Errorf("managedFields (-want, +got):\n%s", diff)
	}
	if part(a, "metadata", "managedFields") != part(b, "metadata", "managedFields") {
		t.Error("entries that differ only in time are not shared")
	}
	options.KeepManagedFields = func(string, string, string) bool { return false }
	none := decode(t, text("a", ""), options)
	if diff := cmp.Diff(map[string]any{"name": "a"}, none["metadata"]); diff != "" {
		t.Errorf("metadata if none is kept (-want, +got):\n%s", diff)
	}
}

// TestLongTexts checks that a text that an annotation contains takes no memory of its own, whatever else it contains.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, tc := range map[string]struct {
		reason, annotation, text string
		shared                   bool
	}{
		"Contained": {"the annotation has it between other things", "{a:" + long + "b}", long + "b", true},
		"All":       {"the annotation is the text", long, long, true},
		"Longer":    {"the annotation has only a part of it", long, long + "x", false},
		"Other":     {"the beginning is the same", strings.Repeat("ab", 300) + "c", strings.Repeat("ab", 200) + "d", false},
		"Repeated":  {"it begins at several places", "x" + strings.Repeat("y", 300) + strings.Repeat("y", 3) + "z", strings.Repeat("y", 300) + "z", true},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`{"kind":"A","metadata":{"annotations":{"a":"%s"}},"data":{"t":"%s"}}`, tc.annotation, tc.text)
			in := NewInterner()
			object := decode(t, text, Options{Interner: in})
			got := object["data"].(map[string]any)["t"].(string)
			if got != tc.text {
				t.Fatalf("%s became %s", tc.text, got)
			}
			annotation := object["metadata"].(map[string]any)["annotations"].(map[string]any)["a"].(string)
			if annotation != tc.annotation {
				t.Fatalf("%s became %s", tc.annotation, annotation)
			}
			begin, at := uintptr(unsafe.Pointer(unsafe.StringData(annotation))), uintptr(unsafe.Pointer(unsafe.StringData(got)))
			if shared := at >= begin && at < begin+uintptr(len(annotation)); shared != tc.shared {
				t.Errorf("shared: %t, want %t: %s", shared, tc.shared, tc.reason)
			}
		})
	}
}

// TestKnownTexts checks what is not decoded again because its text came before.
func TestKnownTexts(t *testing.T) {
	options := Options{Interner: NewInterner()}
	for _, text := range []string{
		`{"kind":"A","spec":{"x":{"y":[1,2]}}}`, `{"kind":"A","spec":{"x":{"y":[1,2]}}}`, `{"kind":"A","spec":{"x":{"y":[1,2,3]}}}`,
		`{"kind":"A","spec":{"x":{"y":[1]},"z":{}}}`, `{"kind":"A","spec":[]}`, `{"kind":"A","spec":{"x":{"y":[1,2]}}}`,
		`{"kind":"A","metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}],"name":"a"}}`, `{"kind":"A","metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}],"name":"b"}}`,
	} {
		want := decode(t, text, Options{})
		if diff := cmp.Diff(want, decode(t, text, options)); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", text, diff)
		}
	}
	if _, err := Decode([]byte(`{"kind":"A","spec":{"x":{"y":[1,2]}}`), options); err == nil {
		t.Error("a known text hides the end of the object")
	}
	deep := strings.Repeat("[", maxDepth-2) + `{"x":{"a":[[[]]]}}` + strings.Repeat("]", maxDepth-2)
	decode(t, `{"kind":"A","x":{"a":[[[]]]}}`, options)
	if _, err := Decode([]byte(`{"kind":"A","spec":`+deep+`}`), options); err == nil {
		t.Error("a known text is nested deeper than is allowed")
	}
}
