package parent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

func TestMaskSecrets(t *testing.T) {
	object := func(kind string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "login"}, "data": map[string]any{"pin": "aHVudGVyMg=="}}
	}
	request := func(kind string) map[string]any {
		return map[string]any{"parent": object("ConfigMap"), "related": map[string]any{kind + ".v1": map[string]any{"login": object(kind)}}}
	}
	failure := &engines.Error{
		Kind: engines.Failed, Location: engines.Location{File: "sync.js", Line: 1}, RetryAfter: time.Second,
		Message: `parsing "hunter2" of login: aHVudGVyMg== is no number`, Stack: []string{"at hunter2"},
	}
	masked := *failure
	masked.Message, masked.Stack = `parsing "(hidden)" of login: (hidden) is no number`, []string{"at (hidden)"}
	cases := map[string]struct {
		reason  string
		err     error
		request map[string]any
		want    error
	}{
		"Secret":    {"the value is hidden, as it is and decoded, and nothing else", failure, request("Secret"), &masked},
		"ConfigMap": {"what is no Secret is shown", failure, request("ConfigMap"), failure},
		"other":     {"an error that is not of an engine stays", cmpopts.AnyError, request("Secret"), cmpopts.AnyError},
		"none":      {"there is no error", nil, request("Secret"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := maskSecrets(c.err, c.request)
			var e *engines.Error
			if errors.As(c.want, &e) {
				var have *engines.Error
				if !errors.As(got, &have) || cmp.Diff(*e, *have) != "" {
					t.Errorf("%s: %+v, want %+v", c.reason, have, e)
				}
			} else if got != c.want {
				t.Errorf("%s: %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

// TestMaskBoundedSecrets masks an error whose texts an engine has cut within the values of a Secret with many.
func TestMaskBoundedSecrets(t *testing.T) {
	values := map[string]any{"mark": "(hid", "rest": "den)", "file": "first: one\nsecond: two\n"}
	for i := range 1000 {
		values[fmt.Sprint("k", i)] = fmt.Sprintf("%04d-%s", i, strings.Repeat("canary", 10))
	}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": values}
	failure := (&engines.Error{
		Kind: engines.Failed, Message: strings.Repeat("x", 1000) + " no number: 0007-" + strings.Repeat("canary", 10),
		Stack: []string{"at second: two", strings.Repeat("x", 2000) + "(hidden) 0008-" + strings.Repeat("canary", 10)},
	}).Bounded()
	var masked *engines.Error
	if !errors.As(maskSecrets(failure, map[string]any{"related": secret}), &masked) {
		t.Fatal("it is no error of an engine any more")
	}
	if want := strings.Repeat("x", 1000) + " no number: (hidden)..."; masked.Message != want {
		t.Errorf("message %q, want %q", masked.Message, want)
	}
	if want := []string{"at (hidden)", strings.Repeat("x", 2000) + "(hidden) (hidden)..."}; !slices.Equal(masked.Stack, want) {
		t.Errorf("stack %q, want %q", masked.Stack, want)
	}
}

// TestHotLoopHidesCopies checks that the value of a Secret is not shown of a ConfigMap into which a hook copies it.
func TestHotLoopHidesCopies(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "login"}, "data": map[string]any{"pin": "aHVudGVyMg=="},
	}}
	loop := &loops.Loop{Diff: fielddiff.Diff{Path: "data.url", From: `"db://other@db"`, To: `"db://hunter2@db"`}}
	loop.Child.Kind, loop.Field = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, loop.Path
	for related, want := range map[*unstructured.Unstructured]string{secret: `set to "db://(hidden)@db" `, nil: `set to "db://hunter2@db" `} {
		p := &pass{observed: variant.Observed{Related: []*unstructured.Unstructured{related}}}
		for _, loop.Feedback = range []bool{false, true} {
			_, got := p.describeLoop(loop, "ConfigMap", nil)
			if !strings.Contains(got, want) || strings.Contains(got, "db://other@db") == loop.Feedback {
				t.Errorf("%s: want %s", got, want)
			}
		}
	}
}

// TestHotLoopNamesNoKey checks that the message about a Secret that is set back again and again has none
// of its keys.
func TestHotLoopNamesNoKey(t *testing.T) {
	for kind, want := range map[string]string{"Secret": "its field data was set to", "ConfigMap": "its field data.password was set to"} {
		child := apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "n", Name: "a"}
		diff := fielddiff.Diff{Path: "data.password", From: "x", To: "y"}
		loop := &loops.Loop{Subject: loops.Subject{Child: child, Field: diff.Path}, Diff: diff, Backoff: time.Minute}
		if _, got := (&pass{}).describeLoop(loop, child.String(), nil); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
