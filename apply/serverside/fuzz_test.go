package serverside

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// FuzzInherit takes any managedFields over. Done again there is nothing left to do, the entries of others stay,
// no former manager holds anything any more, and the object stays as it was.
func FuzzInherit(f *testing.F) {
	own := ManagerName("libretto", "composite", "web")
	for _, entries := range []string{
		`[{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsV1":{"f:t":{}}}]`,
		`[{"manager":"libretto","operation":"Update","apiVersion":"v1","fieldsV1":{"f:a":{},"f:l":{"k:{\"n\":1}":{".":{},"f:n":{}}},"f:s":{"v:1":{}}}}]`,
		`[{"manager":"metacontroller","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:a":{}}},{"manager":"` + own + `","operation":"Apply","apiVersion":"v1"}]`,
		`[{"manager":"old/composite/web","operation":"Apply","apiVersion":"v1beta1","fieldsV1":[]},1,null,{}]`, `[{"manager":1,"subresource":"status"}]`, `{}`,
	} {
		f.Add([]byte(entries), `{"a":1,"l":[{"n":1}],"s":[2]}`)
		f.Add([]byte(entries), "")
		f.Add([]byte(entries), "null")
	}
	former := []string{"libretto", "metacontroller"}
	f.Fuzz(func(t *testing.T, entries []byte, last string) {
		var given any
		if json.Unmarshal(entries, &given) != nil {
			t.Skip("no JSON")
		}
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"managedFields": given}}}
		if last != "" {
			live.SetAnnotations(map[string]string{merge.LastApplied: last})
		}
		before := live.DeepCopy()
		inherited, _ := Inherit(live, own, former)
		if diff := cmp.Diff(before, live); diff != "" {
			t.Fatalf("the object was changed (-before +after):\n%s", diff)
		}
		for _, e := range inherited {
			if Entry(jsonvalue.AsObject(e)).formerOf(own, former) {
				t.Errorf("a former manager holds something: %v", e)
			}
		}
		for _, e := range ManagedFields(live) {
			e := Entry(jsonvalue.AsObject(e))
			if !e.appliedBy(own) && !e.formerOf(own, former) && !jsonvalue.Contains(inherited, map[string]any(e)) {
				t.Errorf("an entry of another manager is gone: %v", e)
			}
		}
		again := live.DeepCopy()
		jsonvalue.ObjectIn(again.Object, "metadata")["managedFields"] = runtime.DeepCopyJSONValue(inherited)
		if second, differs := Inherit(again, own, former); differs || !cmp.Equal(inherited, second) {
			t.Errorf("differs is %v; inherited again (-first +second):\n%s", differs, cmp.Diff(inherited, second))
		}
		HandBack(live, own, "libretto")
	})
}

// FuzzFields walks through any record of fields with any value. What is restricted to a record is part of the
// value, what is within a value is part of the record, and what holds nothing holds no configuration.
func FuzzFields(f *testing.F) {
	for _, fields := range []string{
		`{"f:o":{"f:a":{},".":{}},"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:s":{"v:\"a\"":{},"v:2":{}}}`,
		`{"f:o":1,"f:l":{"k:{\"name\":1,\"b\":null}":{},"k:{":{},"k:{\"":{}},"f:s":[]}`, `{}`, `{"o":{}}`,
	} {
		for _, value := range []string{`{"o":{"a":1,"b":null},"l":[{"name":"a"},{"name":1},"a"],"s":["a",2]}`, `{"o":[],"l":{},"s":1}`, `{}`} {
			f.Add([]byte(fields), []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, record, value []byte) {
		var fields, object map[string]any
		if json.Unmarshal(record, &fields) != nil || json.Unmarshal(value, &object) != nil {
			t.Skip("no objects")
		}
		before, seen := runtime.DeepCopyJSONValue(fields), runtime.DeepCopyJSONValue(object)
		config := Configuration{Fields: object}
		if held := config.HeldBy(fields, object); held && len(fields) == 0 {
			t.Error("nothing holds something")
		}
		if len(fields) > 0 {
			checkPart(t, "", Restrict(fields, object), object)
		}
		if within := Within(fields, object); !includes(fields, within) {
			t.Errorf("%v is within %s", within, record)
		}
		if union := Union(fields, fields); !includes(union, fields) {
			t.Errorf("%v does not have all of %s", union, record)
		}
		if diff := cmp.Diff(before, any(fields)) + cmp.Diff(seen, any(object)); diff != "" {
			t.Errorf("the input was changed (-before +after):\n%s", diff)
		}
	})
}

// checkPart fails unless all fields of part are in whole, and all items, in their order.
func checkPart(t *testing.T, path string, part, whole any) {
	t.Helper()
	switch part := part.(type) {
	case map[string]any:
		object, _ := whole.(map[string]any)
		for name, field := range part {
			if _, ok := object[name]; !ok {
				t.Errorf("%s.%s is not in %v", path, name, whole)
			}
			checkPart(t, path+"."+name, field, object[name])
		}
	case []any:
		if list, _ := whole.([]any); len(part) > len(list) {
			t.Errorf("%s: %d items of %d", path, len(part), len(list))
		}
	default:
		if part != nil && !jsonvalue.Equal(part, whole) {
			t.Errorf("%s: %v is not %v", path, part, whole)
		}
	}
}
