package statuses

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testclock "k8s.io/utils/clock/testing"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestRejectedStatus checks the errors for a status that the API server rejects.
func TestRejectedStatus(t *testing.T) {
	things := parenttest.ThingResource(true, true)
	cases := map[string]struct {
		reason string
		err    error
		later  bool
	}{
		"conflict":  {"the event is on its way", apierrors.NewConflict(things.GroupResource(), "a", errors.New("newer")), true},
		"not found": {"the object is gone, or its status is not served yet", apierrors.NewNotFound(things.GroupResource(), "a"), true},
		"forbidden": {"only a user can help", apierrors.NewForbidden(things.GroupResource(), "a", errors.New("no right")), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := &parenttest.FakeStatusServer{Refuse: tc.err}
			writer := NewWriter(server.Client(), nil, testclock.NewFakeClock(time.Unix(0, 0)))
			written, err := writer.Write(t.Context(), things, parenttest.ThingWith(t, ""), map[string]any{"count": int64(1)})
			if written != nil || !errors.Is(err, tc.err) || errors.Is(err, controller.ErrLater) != tc.later {
				t.Errorf("%s: written %v, error %v", tc.reason, written, err)
			}
		})
	}
}

// TestWrittenStatus checks what is sent, and that a status is not sent again if the API server
// stored it differently.
func TestWrittenStatus(t *testing.T) {
	dropsAll := func(map[string]any) map[string]any { return nil }
	knowsOnly := func(names ...string) func(map[string]any) map[string]any {
		return func(status map[string]any) map[string]any {
			kept := map[string]any{}
			for _, name := range names {
				if value, has := status[name]; has {
					kept[name] = value
				}
			}
			return kept
		}
	}
	cases := map[string]struct {
		reason          string
		builtIn, object bool
		keep            func(map[string]any) map[string]any
		before, desired string
		sent            string // or empty for nothing
	}{
		"Replaced": {
			reason: "the status of a custom resource is replaced", before: "{old: 1, list: [1]}", desired: "{list: [2]}",
			sent: "{list: [2]}",
		},
		"Unchanged":    {reason: "an equal status is not sent", before: "{a: 1}", desired: "{a: 1.0}"},
		"Empty":        {reason: "an empty status differs from none", desired: "{}", sent: "{}"},
		"Emptied":      {reason: "a status may become empty", before: "{a: 1}", desired: "{}", sent: "{}"},
		"EmptyDropped": {reason: "a dropped {} is sent once", desired: "{}", sent: "{}", keep: dropsAll},
		"Pruned":       {reason: "a pruned status is sent once", desired: "{a: 1, b: 2}", sent: "{a: 1, b: 2}", keep: knowsOnly("a")},
		"AllPruned":    {reason: "so is a status that is dropped altogether", desired: "{a: 1}", sent: "{a: 1}", keep: dropsAll},
		"WithObject": {
			reason: "without the subresource the object is written", object: true, before: "{old: 1}", desired: "{a: 1}", sent: "{a: 1}",
		},

		"Merged": {
			reason: "of a built-in kind only the named fields are set", builtIn: true, before: "{phase: Running, podIP: 10.0.0.1}",
			desired: "{phase: Failed}", sent: "{phase: Failed, podIP: 10.0.0.1}",
		},
		"MergedDeep": {
			reason: "objects are merged", builtIn: true, before: "{a: {b: 1, c: 1}}", desired: "{a: {b: 2}, d: {e: 1}}",
			sent: "{a: {b: 2, c: 1}, d: {e: 1}}",
		},
		"MergedList": {
			reason: "lists are replaced", builtIn: true, before: "{list: [1, 2], other: [3]}", desired: "{list: [4]}",
			sent: "{list: [4], other: [3]}",
		},
		"MergedNull": {reason: "null removes", builtIn: true, before: "{a: 1, b: 1}", desired: "{a: null}", sent: "{b: 1}"},
		"MergedThere": {
			reason: "equal fields are not sent", builtIn: true, before: "{a: {b: 1, c: 1}, gone: 1}",
			desired: "{a: {b: 1}, never: null}",
		},
		"MergedEmpty": {reason: "an empty status changes nothing", builtIn: true, desired: "{}"},
		"MergedPruned": {
			reason: "fields that a kind does not have are sent once", builtIn: true, before: "{phase: Running}",
			desired: "{phase: Failed, said: x}", sent: "{phase: Failed, said: x}", keep: knowsOnly("phase", "podIP"),
		},
		"NoField": {
			reason: "the status of a kind without one is sent once", builtIn: true, object: true, desired: "{a: 1}", sent: "{a: 1}",
			keep: dropsAll,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := &parenttest.FakeStatusServer{Keep: tc.keep}
			writer := NewWriter(server.Client(), nil, testclock.NewFakeClock(time.Unix(0, 0)))
			resource, object, desired := parenttest.ThingResource(!tc.builtIn, !tc.object), parenttest.ThingWith(t, tc.before), parenttest.StatusIn(t, tc.desired)
			var want []any
			if tc.sent != "" {
				want = []any{any(parenttest.StatusIn(t, tc.sent))}
			}
			for range 2 {
				written, err := writer.Write(t.Context(), resource, object, desired)
				if err != nil {
					t.Fatal(err)
				}
				if written != nil {
					object = written
				}
				if diff := cmp.Diff(want, server.Sent); diff != "" {
					t.Fatalf("%s: sent -want +got:\n%s", tc.reason, diff)
				}
			}
			if !writer.Stored(resource, object, desired) {
				t.Errorf("%s: the written status does not count as stored", tc.reason)
			}
			if len(server.Subresources) > 0 && (server.Subresources[0] == "status") == tc.object {
				t.Errorf("%s: written to %q", tc.reason, server.Subresources[0])
			}
			if tc.builtIn && tc.before != "" {
				// Writes of others must not cause a dropped field to be sent again.
				if err := unstructured.SetNestedField(object.Object, "10.0.0.2", "status", "podIP"); err != nil {
					t.Fatal(err)
				}
				if !writer.Stored(resource, object, desired) {
					t.Errorf("%s: the status is sent again", tc.reason)
				}
			}
		})
	}
}

// fakeSchema is an API server whose schema of Things has these fields.
type fakeSchema struct{ names []string }

func (f *fakeSchema) Fetch(_ context.Context, path string) ([]byte, error) {
	if path == "/openapi/v3" {
		return fmt.Appendf(nil, `{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/doc?hash=%s"}}}`, strings.Join(f.names, "")), nil
	}
	properties := `"metadata": {}`
	for _, name := range f.names {
		properties += fmt.Sprintf(`, %q: {"type": "string"}`, name)
	}
	return fmt.Appendf(nil, `{"components": {"schemas": {"t": {"type": "object", "properties": {%s},
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}]}}}}`, properties), nil
}

// TestPrunedUntilTheSchemaChanges adds a field to the schema of a pruned status.
func TestPrunedUntilTheSchemaChanges(t *testing.T) {
	for name, known := range map[string]bool{"Known": true, "Unknown": false} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakeClock(time.Unix(0, 0))
			server := &parenttest.FakeStatusServer{Keep: func(map[string]any) map[string]any { return map[string]any{} }}
			served := &fakeSchema{}
			var schemas *openapi.Source
			if known {
				schemas = openapi.New(openapi.Config{API: served, Interval: time.Hour, Timeout: time.Minute, Clock: clock, Log: logr.Discard()})
			}
			writer := NewWriter(server.Client(), schemas, clock)
			things, object, desired := parenttest.ThingResource(true, true), parenttest.ThingWith(t, ""), map[string]any{"said": "x"}
			object, err := writer.Write(t.Context(), things, object, desired)
			if err != nil || !writer.Stored(things, object, desired) {
				t.Fatalf("a dropped field is sent again, error %v", err)
			}
			clock.Step(24 * time.Hour)
			if writer.Stored(things, object, desired) != known {
				t.Errorf("after a day with the same schema, known %v", known)
			}
			if !known {
				return
			}
			served.names = []string{"said"}
			schemas.Changed()
			schemas.For(t.Context(), parenttest.ThingKind)
			if writer.Stored(things, object, desired) {
				t.Error("a field that was added to the schema is not sent")
			}
		})
	}
}
