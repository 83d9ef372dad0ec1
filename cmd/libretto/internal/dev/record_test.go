package dev

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestRecord makes passes, and compares what is kept of them.
func TestRecord(t *testing.T) {
	pod := func(image string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "p", "managedFields": []any{}}, "spec": map[string]any{"image": image},
		}}
	}
	refused := memcluster.Write{Verb: memcluster.Create, Kind: schema.GroupVersionKind{Kind: "Pod"}, Namespace: "a", Name: "p", Err: errors.New("no")}
	for name, c := range map[string]struct {
		reason string
		write  memcluster.Write
		err    error
		want   string
	}{
		"update": {
			reason: "the details have the object before and after", write: memcluster.Write{
				Verb: memcluster.UpdateStatus, Kind: schema.GroupVersionKind{Kind: "Pod"}, Namespace: "a", Name: "p", Before: pod("a"), After: pod("b"),
			},
			want: `[{"verb":"update status","kind":"Pod","namespace":"a","name":"p","error":"","before":{"metadata":{"name":"p"},"spec":{"image":"a"}},` +
				`"after":{"metadata":{"name":"p"},"spec":{"image":"b"}}}]`,
		},
		"refused": {
			reason: "what could not be written is shown", write: refused, err: errors.New("boom"),
			want: `[{"verb":"create","kind":"Pod","namespace":"a","name":"p","error":"no"}]`,
		},
		"failed":  {reason: "a pass without calls and writes is kept if it fails", err: errors.New("boom"), want: `[]`},
		"later":   {reason: "one that is tried again did not fail", err: controller.ErrLater},
		"nothing": {reason: "one that finds nothing to do is not kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			failing := "?"
			r := &recorder{stream: newStream(), passes: map[int64]*passDetails{}, ended: func(_ types.UID, message string) { failing = message }}
			ctx := r.Begin(t.Context(), "CompositeController c", &unstructured.Unstructured{Object: map[string]any{}})
			if c.write.Verb != "" {
				r.wrote(ctx, c.write)
				r.wrote(t.Context(), c.write) // Somebody else's.
			}
			r.End(ctx, c.err)
			p := r.pass(1)
			if p == nil || c.want == "" {
				if (p == nil) != (c.want == "") {
					t.Errorf("kept: %+v", p)
				}
				return
			}
			if wantFailing := textOf(c.err); failing != wantFailing || p.Error != wantFailing {
				t.Errorf("error %q, told %q, want %q", p.Error, failing, wantFailing)
			}
			got, err := json.Marshal(p.Writes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(p.pass.Writes) != len(p.Writes) || len(p.Writes) > 0 && p.pass.Writes[0].After != nil {
				t.Errorf("the list has %+v", p.pass.Writes)
			}
		})
	}
}

// TestCalls checks what is kept of calls, and that the last passes and lines are.
func TestCalls(t *testing.T) {
	s := newStream()
	r := &recorder{stream: s, passes: map[int64]*passDetails{}, ended: func(types.UID, string) {}}
	parent := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "p"}}}
	for range maxPasses + 1 {
		ctx := r.Begin(t.Context(), "CompositeController c", parent)
		r.Called(ctx, "sync", engines.Call{Subject: "s", Request: map[string]any{"a": 1}},
			engines.Response{Body: "b", Read: engines.ReadSet{"parent.spec"}, Logs: []string{"l"}}, errors.New("boom"))
		r.Called(ctx, "sync", engines.Call{}, engines.Response{}, nil)
		r.End(ctx, nil)
	}
	got := r.pass(maxPasses + 1)
	if r.pass(1) != nil || got == nil || len(s.byKey) != maxPasses+maxLogs {
		t.Fatalf("kept: %t, %t, %d messages", r.pass(1) != nil, got != nil, len(s.byKey))
	}
	want := []call{
		{Hook: "sync", Subject: "s", Request: map[string]any{"a": 1}, Response: "b", Reads: []string{"parent.spec"}, Logs: []string{"l"}, Error: "boom"},
		{Hook: "sync", Reads: []string{}, Logs: []string{}},
	}
	if diff := cmp.Diff(want, got.Calls); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sync"}, got.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}
