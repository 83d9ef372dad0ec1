package protocol

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// checkMemory fails if more was allocated than is in proportion to a message, and beside that for values
// that are charged.
func checkMemory(t *testing.T, message []byte, charged int, allocated uint64) {
	t.Helper()
	if most := uint64(200*len(message) + charged + 1<<20); allocated > most {
		t.Errorf("%d bytes made it allocate %d", len(message), allocated)
	}
}

// FuzzReadAnswer reads what a worker sends as the host does. Whatever a hostile worker sends, memory is
// bounded, texts are bounded and valid, and an answer that can be read survives being sent again.
func FuzzReadAnswer(f *testing.F) {
	failure := &engines.Error{
		Kind: engines.Timeout, Message: "boom", Stack: []string{"at a.js:1:2"}, RetryAfter: time.Second,
		Location: engines.Location{File: "a.js", Line: 1, Column: 2}, Err: context.DeadlineExceeded,
	}
	shared := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"k": "v"}}
	for _, a := range []Answer{
		{Number: 1},
		{Number: 2, Err: failure, NearLimit: true, Unreadable: true, ProgramBytes: -1, Warnings: []*engines.Error{failure}},
		{Number: 3, Response: engines.Response{
			Body:          map[string]any{"children": []any{shared, shared, nil, 1.5, int64(2), true, "text"}},
			TimeDependent: true, Remote: true, Read: engines.ReadSet{"related"}, Logs: []string{"line", ""},
		}},
	} {
		f.Add(a.Append(nil, wire.NewObjects()))
	}
	f.Add([]byte{5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 7})
	held := map[string]any{"metadata": map[string]any{"uid": "u"}}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a Answer
		var err error
		checkMemory(t, payload, MaxResponseMemory, allocated(func() {
			a, err = ReadAnswer(payload, func(number uint64) (map[string]any, int) {
				if number != 7 {
					return nil, 0
				}
				return held, 40
			})
		}))
		if err != nil {
			return
		}
		checkTexts(t, a)
		again, err := ReadAnswer(a.Append(nil, wire.NewObjects()), func(uint64) (map[string]any, int) { return nil, 0 })
		if a.Err != nil && again.Err != nil && a.Response.Body != nil && again.Response.Body == nil {
			t.Skip("it has too much in it to be sent without references")
		}
		if withoutTexts(&a); err == nil {
			withoutTexts(&again)
		}
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("error %v; sent again: %+v and then %+v", err, a, again)
		}
	})
}

// withoutTexts removes the texts of errors, which may be cut again when they are sent again.
func withoutTexts(a *Answer) {
	for _, e := range append(a.Warnings[:len(a.Warnings):len(a.Warnings)], a.Err) {
		if e != nil {
			e.Message, e.Location.File, e.Stack = "", "", nil
		}
	}
}

// What the texts of one answer may have at most, and with them logs, events and statuses.
const (
	mostText     = 8<<10 + len("...")
	mostFrames   = 64
	mostWarnings = 16
)

// checkTexts checks what ends up in logs, events and statuses.
func checkTexts(t *testing.T, a Answer) {
	t.Helper()
	size := 0
	for _, line := range a.Response.Logs {
		size += len(line)
	}
	if size > MaxLogBytes+2<<10 || len(a.Warnings) > mostWarnings {
		t.Errorf("%d bytes of logs and %d warnings", size, len(a.Warnings))
	}
	all := a.Warnings
	if a.Err != nil {
		all = append(all[:len(all):len(all)], a.Err)
	}
	for _, e := range all {
		if len(e.Stack) > mostFrames {
			t.Errorf("a stack of %d frames", len(e.Stack))
		}
		for _, text := range append([]string{e.Message, e.Location.File}, e.Stack...) {
			if len(text) > mostText || !utf8.ValidString(text) {
				t.Errorf("a text of %d bytes, or one that is not UTF-8: %.100q", len(text), text)
			}
		}
	}
}

// FuzzReadReady reads the first message of a worker.
func FuzzReadReady(f *testing.F) {
	e := wire.NewEncoder(nil)
	Ready{Report: map[string]string{"seccomp": "", "landlock": "the kernel has none"}}.Append(e)
	f.Add(e.Bytes())
	f.Add([]byte{1, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var r Ready
		var err error
		checkMemory(t, payload, 0, allocated(func() { r, err = ReadReady(payload) }))
		if err != nil {
			return
		}
		e := wire.NewEncoder(nil)
		r.Append(e)
		if again, err := ReadReady(e.Bytes()); err != nil || !cmp.Equal(r, again) {
			t.Errorf("error %v; sent again: %v and then %v", err, r, again)
		}
	})
}

// FuzzReadQuestion reads what the host sends as a worker does.
func FuzzReadQuestion(f *testing.F) {
	files := []File{{Path: "a.js", ID: 1, Text: "text"}}
	script := engines.Script{Path: "a.js", Function: "f", Parameters: map[string]any{"a": 1.5}, MemoryBytes: 1}
	call := Call{Evict: []uint64{1}, Call: engines.Call{
		Request: map[string]any{"parent": map[string]any{"spec": []any{nil, "a"}}}, Subject: "s", Seed: "u", Owner: "o", Now: time.Unix(1, 2),
	}}
	for _, q := range []Question{{Kind: KindCancel, Number: 3}, {Kind: KindLoad, Number: 1, Program: "p", Timeout: time.Second}, {Kind: KindCall, Memory: 1}} {
		e := wire.NewEncoder(nil)
		q.Append(e)
		switch q.Kind {
		case KindLoad:
			Load{Evict: []string{"old"}, Engine: "JavaScript", Hook: "sync", Files: files, Script: script}.Append(e)
		case KindCall:
			call.Append(e)
		}
		f.Add(e.Bytes())
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		checkMemory(t, payload, 0, allocated(func() {
			d := wire.NewDecoder(payload)
			d.Objects = wire.NewObjects()
			d.Lookup, d.BackRefCost = d.Objects.Get, memoryPerByte
			q, err := ReadQuestion(d)
			if err != nil {
				return
			}
			switch q.Kind {
			case KindLoad:
				if l, err := ReadLoad(d); err == nil && l.Script.Files != nil {
					t.Error("a script has no files before the worker adds their texts")
				}
			case KindCall:
				c, err := ReadCall(d)
				if err == nil && c.Request == nil {
					t.Error("a call without a request is an error")
				}
			}
		}))
	})
}
