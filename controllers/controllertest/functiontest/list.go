package functiontest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

// separator is what is between the names of groups and tests.
const separator = " > "

// listTests returns the tests that the file registers.
func (f *testFile) listTests(ctx context.Context) ([]test, error) {
	response, err := f.call(ctx, "", loadTimeout, map[string]any{})
	if err != nil {
		return nil, err
	}
	listed, _ := response.Body.([]any)
	if len(listed) > maxTests {
		return nil, f.tooMany(len(listed))
	}
	tests := make([]test, len(listed))
	only := false
	for n, entry := range listed {
		fields, _ := entry.(map[string]any)
		tests[n] = f.newTest(fields, int64(n))
		only = only || fields["mode"] == "only"
	}
	kept := tests[:0]
	for n, t := range tests {
		fields, _ := listed[n].(map[string]any)
		if only && t.skip == "" && fields["mode"] != "only" {
			t.skip = "another test of the file is marked with only"
		}
		if f.options.Select == nil || f.options.Select(t.name) {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

func (f *testFile) newTest(fields map[string]any, index int64) test {
	name, _ := fields["name"].(string)
	t := test{name: printable(name), at: index, timeout: f.options.Timeout}
	t.location, _ = f.places(engines.Location{File: f.entry}, frames(fields["stack"]))
	switch fields["mode"] {
	case "skip":
		t.skip = "it is marked with skip"
	case "todo":
		t.skip = "it is to be written (todo)"
	}
	if timeout, ok := milliseconds(fields["timeout"]); ok && timeout < t.timeout {
		t.timeout = timeout
	}
	return t
}

func milliseconds(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case int64:
		return time.Duration(v) * time.Millisecond, v > 0 && v < 1<<32
	case float64:
		return time.Duration(v * float64(time.Millisecond)), v > 0 && v < 1<<32
	default:
		return 0, false
	}
}

func (f *testFile) tooMany(found int) error {
	return engines.InvalidError(engines.Location{File: f.entry}, "it has %d tests, more than %d: divide it", found, maxTests)
}

// listPaths returns the fields of the object that are tests. Groups are looked into.
func (f *testFile) listPaths(ctx context.Context) ([]test, error) {
	found, err := f.inspect(ctx, loadTimeout, [][]any{{}})
	if err != nil {
		return nil, err
	}
	tests, err := f.fieldsOf(ctx, nil, found[0], nil)
	if err != nil {
		return nil, err
	}
	kept := tests[:0]
	for _, t := range tests {
		if f.options.Select == nil || f.options.Select(t.name) {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// inspect returns what is at paths of the object.
func (f *testFile) inspect(ctx context.Context, limit time.Duration, paths [][]any) ([]map[string]any, error) {
	asked := make([]any, len(paths))
	for n, at := range paths {
		asked[n] = at
	}
	response, err := f.call(ctx, "", limit, map[string]any{"paths": asked})
	if err != nil {
		return nil, err
	}
	answers, _ := response.Body.([]any)
	found := make([]map[string]any, len(paths))
	for n := range found {
		if n < len(answers) {
			found[n], _ = answers[n].(map[string]any)
		}
	}
	return found, nil
}

// fieldsOf adds the tests among the fields of a group.
func (f *testFile) fieldsOf(ctx context.Context, group []any, of map[string]any, tests []test) ([]test, error) {
	names, _ := of["fields"].([]any)
	if len(tests)+len(names) > maxTests {
		return nil, f.tooMany(len(tests) + len(names))
	}
	for from := 0; from < len(names); from += pathBatch {
		var paths [][]any
		for _, name := range names[from:min(from+pathBatch, len(names))] {
			paths = append(paths, append(group[:len(group):len(group)], name))
		}
		var err error
		if tests, err = f.addPaths(ctx, paths, tests); err != nil {
			return nil, err
		}
	}
	return tests, nil
}

// addPaths adds the tests at paths. If one can't be looked at, it is looked for.
func (f *testFile) addPaths(ctx context.Context, paths [][]any, tests []test) ([]test, error) {
	found, err := f.inspect(ctx, f.options.Timeout, paths)
	if ctx.Err() != nil {
		return nil, engines.Ended(ctx)
	}
	if err != nil && len(paths) > 1 {
		for part := range slices.Chunk(paths, f.partSize(len(paths))) {
			if tests, err = f.addPaths(ctx, part, tests); err != nil {
				return nil, err
			}
		}
		return tests, nil
	}
	if err != nil {
		t := f.pathTest(paths[0], nil)
		failure := f.failure(t.location, err)
		t.location, t.failure, t.outcome = failure.Location, &failure, controllertest.Failed
		return append(tests, t), nil
	}
	for n, at := range paths {
		if tests, err = f.addPath(ctx, at, found[n], tests); err != nil {
			return nil, err
		}
	}
	return tests, nil
}

// addPath adds a test, or those of a group.
func (f *testFile) addPath(ctx context.Context, at []any, found map[string]any, tests []test) ([]test, error) {
	t := f.pathTest(at, found)
	names, _ := found["fields"].([]any)
	has := map[any]bool{}
	for _, name := range names {
		has[name] = true
	}
	problem := ""
	switch kind := found["type"]; {
	case kind == "boolean":
	case kind == "function":
		problem = "it is a function, and nothing calls it: call it, as {actual: f(...), expected: ...}"
	case kind != "object":
		problem = fmt.Sprintf("it is of type %v: a test is a boolean, or {actual: ..., expected: ...}, and a group is an object of tests", kind)
	case has["actual"] && has["expected"]:
	case has["actual"] || has["expected"]:
		problem = "it has only one of actual and expected: add the other one"
	case len(names) == 0:
		problem = "it is an object without fields, and so has no tests"
	default:
		return f.fieldsOf(ctx, at, found, tests)
	}
	if problem != "" {
		t.failure, t.outcome = &controllertest.Failure{Location: t.location, Message: problem}, controllertest.Errored
	}
	return append(tests, t), nil
}

func (f *testFile) pathTest(at []any, found map[string]any) test {
	names := make([]string, len(at))
	for n, name := range at {
		names[n] = printable(fmt.Sprint(name))
	}
	place := engines.Location{File: f.entry}
	line, _ := found["line"].(int64)
	column, _ := found["column"].(int64)
	place.Line, place.Column = int(line), int(column)
	return test{name: strings.Join(names, separator), at: at, location: f.located(place), timeout: f.options.Timeout}
}
