package informer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// decoded decodes an object as a client does. It shares nothing.
func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return object.Object
}

func part(object map[string]any, path ...string) uintptr {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return reflect.ValueOf(value).Pointer()
}

const (
	podA = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}},
		"spec":{"host":"x","security":{"user":1,"groups":[1,2]},"volumes":[{"name":"data"},{"name":"a"}]}}`
	podB = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","labels":{"app":"web"}},
		"spec":{"host":"y","security":{"user":1,"groups":[1,2]},"volumes":[{"name":"data"},{"name":"b"}]}}`
)

func TestIntern(t *testing.T) {
	s := newInterner()
	a, b := decoded(t, podA), decoded(t, podB)
	s.object(a, nil)
	s.object(b, nil)
	for _, object := range []struct {
		got  map[string]any
		text string
	}{{a, podA}, {b, podB}} {
		if diff := cmp.Diff(decoded(t, object.text), object.got); diff != "" {
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
}

// TestInternPreviousVersion checks that unchanged parts of an object are shared with its previous
// version, even if the cache has forgotten them.
func TestInternPreviousVersion(t *testing.T) {
	s := newInterner()
	before, after := decoded(t, podA), decoded(t, podA)
	s.object(before, nil)
	for i := range 3 * generationSize {
		s.object(map[string]any{"data": map[string]any{"n": int64(i)}}, nil)
	}
	after["spec"].(map[string]any)["host"] = "z"
	s.object(after, before)
	if before["spec"].(map[string]any)["host"] != "x" || after["spec"].(map[string]any)["host"] != "z" {
		t.Errorf("the objects have hosts %v and %v, want x and z", before["spec"], after["spec"])
	}
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "security"}, {"spec", "volumes"}} {
		if part(before, path...) != part(after, path...) {
			t.Errorf("%v did not change and is not shared", path)
		}
	}
}

// TestInternKeepsTypes checks that values are shared only if they are equal in both Go and JSON.
func TestInternKeepsTypes(t *testing.T) {
	s := newInterner()
	for _, value := range []any{int64(1), 1.0, "1", true, nil, map[string]any{}, []any{}, map[string]any{"1": nil}, []any{nil}} {
		object := map[string]any{"spec": map[string]any{"x": value}}
		s.object(object, nil)
		got := object["spec"].(map[string]any)["x"]
		if !reflect.DeepEqual(got, value) {
			t.Errorf("%#v became %#v", value, got)
		}
	}
}

// TestInternKeepsValues checks that interning changes no object, whatever its previous version.
func TestInternKeepsValues(t *testing.T) {
	s, random := newInterner(), rand.New(rand.NewPCG(1, 2))
	var before map[string]any
	for range 2000 {
		object := map[string]any{"metadata": randomValue(random, 3), "spec": randomValue(random, 4)}
		want, _ := json.Marshal(object)
		former, _ := json.Marshal(before)
		s.object(object, before)
		if got, _ := json.Marshal(object); string(got) != string(want) {
			t.Fatalf("%s became %s", want, got)
		}
		if got, _ := json.Marshal(before); string(got) != string(former) {
			t.Fatalf("the former self %s became %s", former, got)
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
		return []any{int64(1), 1.5, "text", true, nil}[random.IntN(5)]
	}
}
