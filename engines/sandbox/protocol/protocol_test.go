package protocol_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// none is the set of a worker that was sent no objects.
var none = wire.NewObjects()

func TestAnswers(t *testing.T) {
	failure := &engines.Error{
		Kind: engines.Timeout, Location: engines.Location{File: "a.js", Line: 1, Column: 2}, Message: "late",
		Stack: []string{"at a", "at b"}, RetryAfter: time.Second, Err: context.DeadlineExceeded,
	}
	cases := map[string]struct {
		reason string
		answer protocol.Answer
	}{
		"body":    {"any JSON", protocol.Answer{Number: 7, Response: engines.Response{Body: map[string]any{"a": []any{int64(1), 1.5}}}}},
		"nothing": {"null is an answer", protocol.Answer{Number: 7}},
		"notes": {"notes about the call", protocol.Answer{Response: engines.Response{
			TimeDependent: true, Remote: true, Read: engines.ReadSet{"a"}, Logs: []string{"b", "c"},
		}}},
		"none read":  {"empty Read differs from nil", protocol.Answer{Response: engines.Response{Read: engines.ReadSet{}}}},
		"error":      {"all fields of an error, and the logs", protocol.Answer{Err: failure, Response: engines.Response{Logs: []string{"x"}}}},
		"given up":   {"causes that errors.Is may test", protocol.Answer{Err: &engines.Error{Message: "m", Err: context.Canceled}}},
		"of no use":  {"state of the worker", protocol.Answer{NearLimit: true, Unreadable: true}},
		"warnings":   {"warnings of a loaded program", protocol.Answer{Warnings: []*engines.Error{failure, {Message: "m"}}}},
		"empty body": {"an empty list is not null", protocol.Answer{Response: engines.Response{Body: []any{}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, err := protocol.ReadAnswer(c.answer.Append(nil, none), none.Get)
			if err != nil || !reflect.DeepEqual(c.answer, got) {
				t.Errorf("error %v, want %+v, got %+v", err, c.answer, got)
			}
		})
	}
}

func TestBodyError(t *testing.T) {
	var deep any
	for range wire.MaxDepth + 1 {
		deep = []any{deep}
	}
	const tooLarge = "the response is larger than 8 MiB"
	cases := map[string]struct {
		reason string
		body   any
		kind   engines.Kind
		want   string
	}{
		"large":  {"the body size is limited", strings.Repeat("x", protocol.MaxResponseBytes+1), engines.Exhausted, tooLarge},
		"sparse": {"decoded size counts, not encoded bytes", make([]any, protocol.MaxResponseBytes-100), engines.Exhausted, tooLarge},
		"deep":   {"the nesting is limited", deep, engines.BadResponse, "the response is nested more than 500 deep"},
		"type":   {"an engine's bug is reported", 1, engines.BadResponse, "the response a value is of type int, which JSON does not have"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			a, err := protocol.ReadAnswer(protocol.Answer{Response: engines.Response{Body: c.body}}.Append(nil, none), none.Get)
			if err != nil || a.Err == nil || a.Err.Kind != c.kind || a.Err.Message != c.want || a.Response.Body != nil {
				t.Errorf("error %v, answer's error %v, want %q", err, a.Err, c.want)
			}
		})
	}
}

// TestObjectsInAnswers answers with objects of the host. The host gets its own maps back, and they are
// charged as if they had been sent.
func TestObjectsInAnswers(t *testing.T) {
	cases := map[string]struct {
		reason string
		bytes  int
		want   string
	}{
		"small": {"known objects are sent by reference", 1 << 10, ""},
		"large": {"references count like copies", protocol.MaxResponseBytes / 2, "the response is larger than 8 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			objects, theirs, ours := wire.NewObjects(), map[string]any{"at": "worker"}, map[string]any{"at": "host"}
			objects.Put(7, theirs)
			frame := protocol.Answer{Response: engines.Response{Body: []any{theirs, map[string]any{"at": "worker"}, theirs}}}.Append(nil, objects)
			a, err := protocol.ReadAnswer(frame, func(number uint64) (map[string]any, int) {
				return map[uint64]map[string]any{7: ours}[number], c.bytes
			})
			if c.want != "" {
				if err != nil || a.Err == nil || a.Err.Message != c.want || a.Response.Body != nil {
					t.Errorf("error %v, answer's error %v, body %v", err, a.Err, a.Response.Body)
				}
				return
			}
			want := []any{ours, map[string]any{"at": "worker"}, ours}
			if diff := cmp.Diff(any(want), a.Response.Body); err != nil || a.Err != nil || diff != "" {
				t.Errorf("error %v, answer's error %v, (-want +got):\n%s", err, a.Err, diff)
			}
			if _, err := protocol.ReadAnswer(frame, none.Get); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("an object that the host has not sent: error %v", err)
			}
		})
	}
}

func TestTruncateLogs(t *testing.T) {
	lines := make([]string, 100)
	for i := range lines {
		lines[i] = strings.Repeat("x", 1023)
	}
	got := protocol.TruncateLogs(lines)
	if len(got) != 66 || got[65] != "(cut at 64 KiB)" || lines[65] == got[65] {
		t.Errorf("%d lines are left, the last is %.20q", len(got), got[len(got)-1])
	}
}

func TestQuestions(t *testing.T) {
	files := []protocol.File{{Path: "a.js", ID: 1, Text: "text"}, {Path: "lib/b.js"}, {Path: "lib/c.js", ID: 7, Known: true, Checked: true}}
	script := engines.Script{
		Path: "a.js", Function: "f",
		Signature: engines.HTTPContext, Parameters: map[string]any{"p": 1.0}, MemoryBytes: 5,
	}
	load := protocol.Load{Evict: []string{"old"}, EvictTexts: []uint64{3, 4}, Engine: "JavaScript", Hook: "sync", Files: files, Script: script}
	asked := protocol.Question{Kind: protocol.KindLoad, Number: 9, Timeout: time.Second, Memory: 1 << 20, CachedBytes: 3, Program: "p"}
	e := wire.NewEncoder(nil)
	asked.Append(e)
	load.Append(e)
	d := wire.NewDecoder(e.Bytes())
	q, err := protocol.ReadQuestion(d)
	if err != nil || q != asked {
		t.Fatalf("question %+v, error %v", q, err)
	}
	got, err := protocol.ReadLoad(d)
	if diff := cmp.Diff(load, got); err != nil || diff != "" || d.Len() > 0 {
		t.Errorf("load: error %v, %d bytes left, (-want +got):\n%s", err, d.Len(), diff)
	}
}

func TestCalls(t *testing.T) {
	for name, now := range map[string]time.Time{"now": time.Date(2026, 10, 3, 12, 0, 0, 5, time.UTC), "never": {}} {
		t.Run(name, func(t *testing.T) {
			call := engines.Call{Request: map[string]any{"a": "b"}, Now: now, Seed: "s", Subject: "t", Owner: "o"}
			e := wire.NewEncoder(nil)
			protocol.Call{Evict: []uint64{4}, Call: call}.Append(e)
			d := wire.NewDecoder(e.Bytes())
			d.Objects = wire.NewObjects()
			d.Objects.Put(4, map[string]any{})
			d.Objects.Put(5, map[string]any{})
			got, err := protocol.ReadCall(d)
			if diff := cmp.Diff(call, got); err != nil || diff != "" {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
			if evicted, _ := d.Objects.Get(4); evicted != nil {
				t.Error("object 4 was not dropped")
			}
			if kept, _ := d.Objects.Get(5); kept == nil {
				t.Error("object 5 was dropped")
			}
		})
	}
}

// FuzzAnswer decodes messages of a compromised worker.
func FuzzAnswer(f *testing.F) {
	f.Add(protocol.Answer{
		Number: 1, Response: engines.Response{Body: "x", Logs: []string{"a"}}, Err: &engines.Error{Message: "m", Stack: []string{"s"}},
		Warnings: []*engines.Error{{Message: "w"}},
	}.Append(nil, none))
	f.Add([]byte{5, 1, 0, 0, 0, 0, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, payload []byte) {
		a, err := protocol.ReadAnswer(payload, none.Get)
		if err != nil {
			return
		}
		if a.Err != nil && len(a.Err.Message) > 9<<10 {
			t.Errorf("a message of %d bytes", len(a.Err.Message))
		}
		if _, err := protocol.ReadAnswer(a.Append(nil, none), none.Get); err != nil {
			t.Errorf("read once, but not again: %v", err)
		}
	})
}

var errBoom = errors.New("boom")

func TestUnknownCause(t *testing.T) {
	a, err := protocol.ReadAnswer(protocol.Answer{Err: &engines.Error{Message: "m", Err: errBoom}}.Append(nil, none), none.Get)
	if err != nil || a.Err == nil || a.Err.Err != nil {
		t.Errorf("error %v, answer's error %+v: a cause stays where it is", err, a.Err)
	}
}
