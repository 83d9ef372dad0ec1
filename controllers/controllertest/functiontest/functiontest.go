// Package functiontest runs the tests of functions alone: files that list their tests, such as those that import libretto/test, and
// files that are objects of {actual, expected} and booleans. They run in the engines of hooks, under their limits.
package functiontest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

const (
	// DefaultTimeout is how long one test may take: as long as a hook by default.
	DefaultTimeout = 10 * time.Second
	// maxTests bounds the tests of a file.
	maxTests = 20_000
	// loadTimeout is how long a file may take to compile, and to list its tests.
	loadTimeout = 30 * time.Second
	// pathBatch is how many tests that are identified by their paths run in one call, and listBatch how many of a list with more than
	// maxSingle.
	pathBatch = 1000
	listBatch = 100
	maxSingle = 500
)

// Options are how tests run.
type Options struct {
	// Timeout is how long one test may take. It defaults to DefaultTimeout.
	Timeout time.Duration
	// Parallel is how many calls are made at once. It defaults to the number of processors.
	Parallel int
	// Slots bounds the calls of several files together. It should not hold more than there are workers: a call that waits for one
	// uses up its time. Nil means that Parallel is the only bound.
	Slots chan struct{}
	// Select reports whether a test of that name is run. Others have no result. Nil selects all.
	Select func(name string) bool
	// MemoryBytes is what one test may use. Zero means the default of hooks.
	MemoryBytes int64
	// Owner and TrustDomain are those of engines.Source. Owner defaults to the file.
	Owner, TrustDomain string
	// Background makes calls give way to others.
	Background bool
	// Coverage collects what tests reach in the scripts beside them. Nil means that it is not counted.
	Coverage *coverage.Collector
}

// testFile is a file of tests that compiled.
type testFile struct {
	options Options
	program engines.Program
	// byPath is as in engines.TestFiles.
	byPath bool
	// name is the file's path as results have it, root the folder of its tree, and entry its path in there.
	name, root, entry string
	// number is part of the origin of calls: a test that ended a worker is not held back when its file is loaded again.
	number uint64
	// starved reports whether a call was not made because no worker was free.
	starved atomic.Bool
}

// test is one test of a file.
type test struct {
	name string
	// at is what the program knows it by: an index, or a path.
	at       any
	location engines.Location
	timeout  time.Duration
	// skip is why it is not run, or empty.
	skip string
	// failure is why it failed while it was listed, or can't be run, with outcome. It may be nil.
	failure *controllertest.Failure
	outcome controllertest.Outcome
}

var loads atomic.Uint64

// Run runs the tests of a file and returns their results in the order of the file. root is the folder whose files are the module
// tree, and file is the path of the file, in root. A file that does not load has one result, of the outcome Errored.
// An error means that a file could not be read, that ctx is over or, in the background, that no worker was free: engines.ErrNoWorker.
func Run(ctx context.Context, registry *engines.Registry, root, file string, options Options) ([]controllertest.Result, error) {
	within, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	f := &testFile{options: options, name: file, root: root, entry: filepath.ToSlash(within)}
	files, err := f.read()
	if err != nil {
		return nil, err
	}
	return f.run(ctx, registry, files)
}

// RunFiles is Run for a file of a module tree that is in memory. Results have the paths of the tree.
func RunFiles(
	ctx context.Context, registry *engines.Registry, files engines.Files, file string, options Options,
) ([]controllertest.Result, error) {
	return (&testFile{options: options, name: file, entry: file}).run(ctx, registry, files)
}

func (f *testFile) run(ctx context.Context, registry *engines.Registry, files engines.Files) ([]controllertest.Result, error) {
	options := &f.options
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Parallel <= 0 {
		options.Parallel = runtime.GOMAXPROCS(0)
	}
	if options.Slots == nil {
		options.Slots = make(chan struct{}, options.Parallel)
	}
	if options.Owner == "" {
		options.Owner = f.name
	}
	f.number = loads.Add(1)
	started := time.Now()
	tests, err := f.load(ctx, registry, files)
	switch {
	case f.hadNoWorker(err):
		return nil, engines.ErrNoWorker
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return []controllertest.Result{f.errored(err, started)}, nil
	}
	results := make([]controllertest.Result, len(tests))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(options.Parallel)
	size := f.batchSize(len(tests))
	for from := 0; from < len(tests); from += size {
		to := min(from+size, len(tests))
		group.Go(func() error { return f.runBatch(ctx, tests[from:to], results[from:to]) })
	}
	if err := group.Wait(); err != nil && !f.hadNoWorker(nil) {
		return nil, err
	}
	if f.hadNoWorker(nil) {
		return nil, engines.ErrNoWorker
	}
	return results, nil
}

// hadNoWorker reports whether calls in the background, or the one with that error, were not made because no worker was free.
func (f *testFile) hadNoWorker(err error) bool {
	return f.options.Background && (errors.Is(err, engines.ErrNoWorker) || f.starved.Load())
}

func (f *testFile) batchSize(tests int) int {
	switch {
	case f.byPath:
		return pathBatch
	case tests > maxSingle:
		return listBatch
	default:
		return 1
	}
}

// partSize returns how many tests of a batch that failed are run in one call. Calls of a list are the same whatever they run.
func (f *testFile) partSize(tests int) int {
	if f.byPath {
		return max(1, tests/10)
	}
	return 1
}

// read returns the module tree: what a ConfigMap or a directory of the host would have, without what is no text.
func (f *testFile) read() (engines.Files, error) {
	read := directory.Read(f.root, ".")
	if read.Err != nil {
		return nil, fmt.Errorf("%s: %w", f.root, read.Err)
	}
	files := engines.Files{}
	for name, text := range read.Files {
		if utf8.ValidString(text) {
			files[name] = text
		}
	}
	if _, ok := files[f.entry]; !ok {
		return nil, fmt.Errorf("%s: there is no such file below %s, or it is no UTF-8 text", f.name, f.root)
	}
	return files, nil
}

// load compiles the file and lists its tests.
func (f *testFile) load(ctx context.Context, registry *engines.Registry, files engines.Files) ([]test, error) {
	engine, err := registry.ForPath(f.entry)
	if err != nil {
		return nil, err
	}
	kind := registry.TestsIn(f.entry)
	f.byPath = kind != nil && kind.ByPath
	ctx, cancel := engines.WithTimeout(ctx, loadTimeout)
	defer cancel()
	f.program, err = engine.Compile(ctx, engines.Source{
		Hook: engines.HookTest, Owner: f.options.Owner, TrustDomain: f.options.TrustDomain,
		Script: &engines.Script{Files: files, Path: f.entry, MemoryBytes: f.options.MemoryBytes, Coverage: f.options.Coverage != nil},
	})
	if err != nil {
		return nil, err
	}
	if f.options.Coverage != nil {
		f.program = f.options.Coverage.Watch(map[string]engines.Program{engines.HookTest: f.onDisk(f.program)})[engines.HookTest]
	}
	var tests []test
	if f.byPath {
		tests, err = f.listPaths(ctx)
	} else {
		tests, err = f.listTests(ctx)
	}
	if err == nil && len(tests) == 0 && f.options.Select == nil {
		err = engines.InvalidError(engines.Location{File: f.entry}, "there are no tests in it")
	}
	return tests, err
}

// call calls the program within a limit of time, which begins when it is its turn.
func (f *testFile) call(ctx context.Context, subject string, limit time.Duration, request map[string]any) (engines.Response, error) {
	ctx, _ = engines.TimeoutOf(ctx) // The limit is another one than that of the load.
	select {
	case f.options.Slots <- struct{}{}:
		defer func() { <-f.options.Slots }()
	case <-ctx.Done():
		return engines.Response{}, engines.Ended(ctx)
	}
	ctx, cancel := engines.WithTimeout(ctx, limit)
	defer cancel()
	response, err := f.program.Run(ctx, engines.Call{
		Request: request, Now: controllertest.DefaultNow, Seed: f.entry, Owner: f.options.Owner, Background: f.options.Background,
		Origin: engines.Origin{ID: fmt.Sprintf("%d %s %s", f.number, f.name, subject)},
	})
	if errors.Is(err, engines.ErrNoWorker) {
		f.starved.Store(true)
	}
	return response, err
}

// onDisk returns a program whose points are at places on the disk.
func (f *testFile) onDisk(p engines.Program) engines.Program {
	points := slices.Clone(p.CoveragePoints())
	for i := range points {
		points[i].Location = f.located(points[i].Location)
	}
	return coveredProgram{p, points}
}

type coveredProgram struct {
	engines.Program
	points []engines.CoveragePoint
}

// CoveragePoints returns what calls report.
func (p coveredProgram) CoveragePoints() []engines.CoveragePoint { return p.points }

// located returns a place of the tree as one on the disk.
func (f *testFile) located(at engines.Location) engines.Location {
	if at.File != "" {
		at.File = path.Join(filepath.ToSlash(f.root), at.File)
	}
	return at
}

// errored returns the result of a file that does not load.
func (f *testFile) errored(err error, started time.Time) controllertest.Result {
	failure := f.failure(engines.Location{File: f.entry}, err)
	return controllertest.Result{
		File: f.name, Name: "the file", Location: failure.Location, Outcome: controllertest.Errored,
		Failures: []controllertest.Failure{failure}, Duration: time.Since(started),
	}
}
