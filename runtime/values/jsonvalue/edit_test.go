package jsonvalue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValuesAtPaths sets and removes values at paths, and checks that the object itself stays as it is.
func TestValuesAtPaths(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"replicas": int64(3), "none": nil}, "text": "a"}
	for name, c := range map[string]struct {
		path          []string
		with, without map[string]any // without is nil if it is the object itself
	}{
		"there":       {[]string{"spec", "replicas"}, map[string]any{"spec": map[string]any{"replicas": "new", "none": nil}, "text": "a"}, map[string]any{"spec": map[string]any{"none": nil}, "text": "a"}},
		"null":        {[]string{"spec", "none"}, map[string]any{"spec": map[string]any{"replicas": int64(3), "none": "new"}, "text": "a"}, map[string]any{"spec": map[string]any{"replicas": int64(3)}, "text": "a"}},
		"not there":   {[]string{"data", "a", "b"}, map[string]any{"spec": object["spec"], "text": "a", "data": map[string]any{"a": map[string]any{"b": "new"}}}, nil},
		"of a text":   {[]string{"text", "a"}, map[string]any{"spec": object["spec"], "text": map[string]any{"a": "new"}}, nil},
		"at the root": {[]string{"text"}, map[string]any{"spec": object["spec"], "text": "new"}, map[string]any{"spec": object["spec"]}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.with, WithValueAt(object, c.path, "new")); d != "" {
				t.Errorf("with (-want +got):\n%s", d)
			}
			without, differs := WithoutValueAt(object, c.path)
			want := c.without
			if want == nil {
				want = object
			}
			if d := cmp.Diff(want, without); d != "" || differs != (c.without != nil) {
				t.Errorf("without, which differs: %t (-want +got):\n%s", differs, d)
			}
		})
	}
	if d := cmp.Diff(map[string]any{"spec": map[string]any{"replicas": int64(3), "none": nil}, "text": "a"}, object); d != "" {
		t.Errorf("the object was changed:\n%s", d)
	}
}

// TestMergePatch checks what a patch sets and removes, and that neither it nor its target changes.
func TestMergePatch(t *testing.T) {
	target := map[string]any{"a": map[string]any{"b": int64(1), "c": int64(2)}, "d": []any{int64(1)}, "e": "text"}
	patch := map[string]any{
		"a": map[string]any{"b": nil, "x": "new"}, "d": []any{}, "e": map[string]any{"y": nil, "z": int64(1)}, "none": nil,
	}
	want := map[string]any{"a": map[string]any{"c": int64(2), "x": "new"}, "d": []any{}, "e": map[string]any{"z": int64(1)}}
	if diff := cmp.Diff(want, MergePatch(target, patch)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := ObjectIn(target, "a"); a["b"] != int64(1) || len(ObjectIn(patch, "a")) != 2 {
		t.Errorf("the target is %v, and the patch %v", target, patch)
	}
	if diff := cmp.Diff(map[string]any{"a": "b"}, MergePatch(nil, map[string]any{"a": "b"})); diff != "" {
		t.Errorf("without a target (-want +got):\n%s", diff)
	}
}

// TestMap checks that a copy is walked through as edit wants, and that the value stays as it is.
func TestMap(t *testing.T) {
	value := map[string]any{"a": "x", "list": []any{"x", int64(1), nil}, "done": map[string]any{"a": "x"}}
	got := Map(value, func(v any) (any, bool) {
		object := AsObject(v)
		switch {
		case v == "x":
			return "y", true
		case object["list"] != nil:
			return With(object, "more", []any{"x"}), false
		}
		return v, object != nil
	})
	want := map[string]any{"a": "y", "list": []any{"y", int64(1), nil}, "done": map[string]any{"a": "x"}, "more": []any{"y"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if value["a"] != "x" || len(value) != 3 {
		t.Errorf("the value has changed: %v", value)
	}
}

// TestConditions checks what of a status are its conditions.
func TestConditions(t *testing.T) {
	ready := map[string]any{"type": "Ready", "status": "True"}
	object := map[string]any{"status": map[string]any{"conditions": []any{"no condition", map[string]any{"status": "False"}, ready}}}
	if diff := cmp.Diff([]map[string]any{{"status": "False"}, ready}, Conditions(object)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ready, Condition(object, "Ready")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, other := range map[string]map[string]any{
		"nothing": nil, "no object": {"status": "x"}, "no list": {"status": map[string]any{"conditions": ready}}, "another": object,
	} {
		if got := Condition(other, "Stalled"); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
