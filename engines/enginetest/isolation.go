package enginetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func changeable() map[string]any {
	return map[string]any{
		"labels": map[string]any{"b": "kept", "nested": map[string]any{"c": "d"}},
		"list":   []any{int64(3), int64(1), int64(2)},
	}
}

func checkRequestUnchanged(t *testing.T, e *engineUnderTest) {
	request := changeable()
	before := runtime.DeepCopyJSON(request)
	e.checkReference(t, Change, request)
	if diff := cmp.Diff(before, request); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
}

func checkConcurrent(t *testing.T, e *engineUnderTest) {
	const goroutines = 32
	program, request := e.compile(t, Change), changeable()
	before := runtime.DeepCopyJSON(request)
	want := change(request)
	problems := make(chan string, goroutines)
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			response, err := program.Run(t.Context(), call(request))
			if diff := cmp.Diff(want, response.Body); err != nil || diff != "" {
				problems <- fmt.Sprintf("error %v, answer (-want +got):\n%s", err, diff)
			}
		})
	}
	group.Wait()
	close(problems)
	for problem := range problems {
		t.Error(problem)
	}
	if diff := cmp.Diff(before, request); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
}

func checkNoState(t *testing.T, e *engineUnderTest) {
	program := e.compile(t, Count)
	for n := range 3 {
		response, err := program.Run(t.Context(), call(map[string]any{}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(map[string]any{"calls": int64(1)}), response.Body); diff != "" {
			t.Errorf("call %d (-want +got):\n%s", n+1, diff)
		}
	}
}
