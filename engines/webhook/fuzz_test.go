package webhook

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// FuzzDecode reads the body of an answer. What is no answer is a bounded error for its author, and an
// answer is the same JSON when it is written again.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b","a":"c"}}],"resyncAfterSeconds":1.5}`,
		`{"status":{"a":1,"a":2},"status":null}`, `[1,-1,1e3,9007199254740993,9223372036854775808,1e400]`, `null`, ``, " \n", `<html>`, `not found`,
		`{"a":`, `{} {}`, `"\ud800"`, "\xff", `[[[[[[[[[[]]]]]]]]]]`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, refuse bool) {
		body, err := decode(text, refuse)
		if err != nil {
			var e *engines.Error
			if !errors.As(err, &e) || e.Kind != engines.BadResponse || body != nil {
				t.Fatalf("%v of type %T, with a body %v", err, err, body)
			}
			if len(e.Message) > 4*maxExcerptBytes+len(text) || len(e.Stack) > 1 {
				t.Errorf("a message of %d bytes for a body of %d: %.200q", len(e.Message), len(text), e.Message)
			}
			return
		}
		again, err := json.Marshal(body)
		if err != nil || !utf8.Valid(again) {
			t.Fatalf("it can't be written as JSON: %v", err)
		}
		got, err := decode(again, refuse)
		if err != nil {
			t.Fatal(err)
		}
		// JSON has no way to tell 18017000000000008.0, whose shortest form ends with 10, from 18017000000000010.
		if text, err := json.Marshal(got); err != nil || string(text) != string(again) && !jsonvalue.Equal(body, got) {
			t.Errorf("error %v; read again (-first +second):\n%s", err, cmp.Diff(body, got))
		}
	})
}
