package dev

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
)

// tests runs the tests of the folder.
type tests struct {
	stream *stream
	folder test.Folder
	// check is called before each run, and with isOff without one.
	check   func(context.Context)
	isOff   bool
	started chan struct{}
}

// testsMessage is what the page gets of a run, and testCase of a case.
type (
	testsMessage struct {
		Running  bool                              `json:"running"`
		Cases    []testCase                        `json:"cases"`
		Coverage map[string]map[int]coverage.State `json:"coverage"`
		Problems []string                          `json:"problems"`
	}
	testCase struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Name    string `json:"name"`
		Passed  bool   `json:"passed"`
		Failure string `json:"failure"`
	}
)

// start has the tests run, again if they run.
func (t *tests) start() {
	select {
	case t.started <- struct{}{}:
	default:
	}
}

// run runs the tests when they are started, until ctx ends. A run that is started again is ended.
func (t *tests) run(ctx context.Context) {
	for last := newTestsMessage(); ; {
		select {
		case <-t.started:
		case <-ctx.Done():
			return
		}
		last.Running = true
		t.stream.put("tests", "tests", last)
		running, cancel := context.WithCancel(ctx)
		go func() {
			defer cancel()
			select {
			case <-t.started:
				t.start()
			case <-running.Done():
			}
		}()
		t.check(running)
		if m := t.once(running); running.Err() == nil {
			last = m
			t.stream.put("tests", "tests", last)
		}
		cancel()
	}
}

func newTestsMessage() testsMessage {
	return testsMessage{Cases: []testCase{}, Coverage: map[string]map[int]coverage.State{}, Problems: []string{}}
}

// once runs all tests.
func (t *tests) once(ctx context.Context) testsMessage {
	m := newTestsMessage()
	if t.isOff {
		return m
	}
	covered, err := t.folder.Run(ctx, func(r controllertest.Result) {
		isFine := r.Outcome == controllertest.Passed || r.Outcome == controllertest.Skipped
		c := testCase{File: withoutRoot(r.File, t.folder.Path), Line: r.Location.Line, Name: r.Name, Passed: isFine}
		if r.Outcome != controllertest.Passed {
			c.Failure = withoutRoot(test.Describe(r), t.folder.Path)
		}
		m.Cases = append(m.Cases, c)
	})
	if err != nil {
		m.Problems = append(m.Problems, err.Error())
		return m
	}
	for _, f := range covered.Files {
		m.Coverage[withoutRoot(f.Name, t.folder.Path)] = f.States()
	}
	return m
}

// exploreTimeout is how long an exploration may take.
const exploreTimeout = 2 * time.Minute

// exploreStep is a step of a counterexample.
type exploreStep struct {
	Title   string           `json:"title"`
	Writes  []write          `json:"writes"`
	Objects []map[string]any `json:"objects"`
}

// explore returns a counterexample of a case, as steps, with what fails.
func (t *tests) explore(ctx context.Context, file, name string) (steps []exploreStep, failure string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, exploreTimeout, fmt.Errorf("it took longer than %s: libretto test --explore", exploreTimeout))
	defer cancel()
	found, failure, err := t.folder.Explore(ctx, filepath.FromSlash(file), name)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	steps = []exploreStep{}
	for _, s := range found {
		step := exploreStep{Title: s.Title, Writes: wholeWrites(s.Writes), Objects: []map[string]any{}}
		for _, object := range s.Objects {
			step.Objects = append(step.Objects, object.Object)
		}
		steps = append(steps, step)
	}
	return steps, withoutRoot(failure, t.folder.Path), nil
}
