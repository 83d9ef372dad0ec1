package test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
)

// watchFiles runs the tests, and again those that changed files concern, until ctx ends.
func (t *testRun) watchFiles(ctx context.Context) error {
	watcher, err := suite.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	w := &testWatch{testRun: t, watcher: watcher, inputs: map[string]suite.Inputs{}}
	for pending := []string(nil); ; {
		if err := w.run(ctx, pending); err == nil {
			pending = nil
		} else if ctx.Err() == nil {
			fmt.Fprintln(t.Stderr, "libretto:", err)
		}
		changed, err := watcher.Next(ctx)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case errors.Is(err, fsnotify.ErrEventOverflow):
			clear(w.inputs) // What has changed is not known: all run again.
		case err != nil:
			return err
		}
		pending = append(pending, changed...)
		slices.Sort(pending)
		pending = slices.Compact(pending)
	}
}

// testWatch is a run that goes on.
type testWatch struct {
	*testRun
	watcher *suite.Watcher
	// inputs are what the results of each test file depend on. A file that has not run has none.
	inputs map[string]suite.Inputs
}

// run runs the test files that have not run, and those that depend on a changed file.
func (w *testWatch) run(ctx context.Context, changed []string) error {
	found, err := suite.Find(w.registry, w.paths...)
	if err != nil {
		return err
	}
	if err := w.watcher.Add(found.Directories...); err != nil {
		return err
	}
	found.Cases = slices.DeleteFunc(found.Cases, func(file string) bool { return !w.concerns(file, changed) })
	found.Functions = slices.DeleteFunc(found.Functions, func(file string) bool { return !w.concerns(file, changed) })
	if len(found.Cases)+len(found.Functions) == 0 && changed != nil {
		return nil
	}
	if changed != nil {
		fmt.Fprintf(w.Stdout, "\n%s changed\n", strings.Join(changed, ", "))
	}
	summary, err := w.runFound(ctx, found)
	if err != nil {
		return err
	}
	if summary.Total() == 0 {
		fmt.Fprintln(w.Stderr, "libretto:", w.noCases(found))
	}
	for _, file := range found.Functions {
		summary.Inputs[file] = treeOf(file, found.Directories)
	}
	maps.Copy(w.inputs, summary.Inputs)
	for _, inputs := range summary.Inputs {
		if err := w.watcher.Add(slices.Sorted(maps.Keys(inputs))...); err != nil {
			return err
		}
	}
	fmt.Fprintln(w.Stdout, "waiting for changes: Ctrl-C ends")
	return nil
}

// treeOf returns what the tests of a file of functions depend on: all that is in its folder.
func treeOf(file string, directories []string) suite.Inputs {
	folder := filepath.Dir(file)
	inputs := suite.Inputs{file: false, folder: true}
	for _, name := range directories {
		if folder == "." || strings.HasPrefix(name, folder+string(filepath.Separator)) {
			inputs[name] = true
		}
	}
	return inputs
}

// concerns reports whether a test file is to run after a change.
func (w *testWatch) concerns(file string, changed []string) bool {
	inputs, hasRun := w.inputs[file]
	return !hasRun || slices.ContainsFunc(changed, inputs.DependOn)
}
