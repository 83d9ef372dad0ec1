package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/engines"
)

// Options are what to run, and how.
type Options struct {
	// Cases and Functions are the test files, as Find returns them.
	Cases, Functions []string
	Engines          *engines.Registry
	// ScriptsDir is the directory that script sources of kind directory are below.
	ScriptsDir string
	// Run selects the results by their ID. Nil means all.
	Run *regexp.Regexp
	// Concerns selects test files by what they depend on. What can't be loaded is run. Nil means all.
	Concerns func(Inputs) bool
	// Parallel is how many cases are run at once.
	Parallel int
	// Shuffle is the seed by which the order of the cases is changed, or 0.
	Shuffle uint64
	// FailFast ends the run after the first case that does not pass.
	FailFast bool
	// Update writes golden files.
	Update bool
	// ShowSecrets leaves the values of Secrets in results.
	ShowSecrets bool
	// Timeout is how long a case may take: see engines.WithBudget.
	Timeout time.Duration
	// RunFunctions runs those of a file's tests of functions that Run selects. It may be called by several goroutines at once. Nil means
	// that the files are left out with a warning.
	RunFunctions func(ctx context.Context, file string) ([]controllertest.Result, error)
	// Coverage collects what the calls of hooks reach in scripts. Nil means that it is not counted.
	Coverage *coverage.Collector
	// RunCase runs a case. Nil means controllertest.RunCase.
	RunCase func(
		context.Context, *engines.Registry, *controllertest.ControllerTest, *controllertest.Case, *controllertest.Subject,
	) controllertest.Result
	// Warn is called with what may make a result differ from what a host does. It may be called by several goroutines at once.
	Warn func(string)
	// Updated is called with the golden files that are written, if it is not nil. It may be called by several goroutines at once.
	Updated func(file string)
	// Report is called with the results, one after another: by file and case, or as shuffled.
	Report func(controllertest.Result)
}

// Summary is the result of a run.
type Summary struct {
	Counts map[controllertest.Outcome]int
	// NotRun is how many cases were left out because of FailFast.
	NotRun int
	// Inputs are what the results of each test file depend on.
	Inputs map[string]Inputs
}

// Total returns the number of results.
func (s *Summary) Total() int {
	total := 0
	for _, n := range s.Counts {
		total += n
	}
	return total
}

// runner is one run.
type runner struct {
	Options
	subjects *subjects
	summary  *Summary
	stopped  bool
}

// job is a case to run, or a result that is known already.
type job struct {
	file  *testFile
	test  *testDocument
	index int
	known *controllertest.Result
}

// Run runs the cases. An error means that a file could not be read, or that ctx has ended.
func Run(ctx context.Context, o Options) (*Summary, error) {
	o.Warn = locked(o.Warn)
	if o.RunCase == nil {
		o.RunCase = controllertest.RunCase
	}
	r := &runner{Options: o, subjects: newSubjects(o), summary: &Summary{
		Counts: map[controllertest.Outcome]int{}, Inputs: map[string]Inputs{},
	}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files, err := r.readAll(ctx)
	if err != nil {
		return r.summary, err
	}
	jobs := r.jobs(files)
	if o.Shuffle != 0 {
		random := rand.New(rand.NewPCG(o.Shuffle, 0))
		random.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	}
	r.runAll(ctx, cancel, jobs)
	if !r.stopped {
		err = r.runFunctions(ctx)
	}
	for _, f := range files {
		r.summary.Inputs[f.name] = f.inputs
	}
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, errFailFast) {
		err = cause
	}
	return r.summary, err
}

// errFailFast ends the cases that run after the first failure.
var errFailFast = errors.New("another case failed")

// locked returns a function that may be called by several goroutines, and passes each text on once.
func locked(warn func(string)) func(string) {
	var mu sync.Mutex
	warned := map[string]bool{}
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if warn != nil && !warned[text] {
			warned[text] = true
			warn(text)
		}
	}
}

// readAll reads the test files.
func (r *runner) readAll(ctx context.Context) ([]*testFile, error) {
	files := make([]*testFile, len(r.Cases))
	group, _ := errgroup.WithContext(ctx)
	group.SetLimit(max(r.Parallel, 1))
	for i, name := range r.Cases {
		group.Go(func() (err error) {
			if files[i], err = r.read(ctx, name); err == nil && r.Concerns != nil && !r.isConcerned(files[i]) {
				files[i].tests = nil
			}
			return err
		})
	}
	return files, group.Wait()
}

// isConcerned reports whether a file is to be run. It loads what the file tests.
func (r *runner) isConcerned(f *testFile) bool {
	for _, test := range f.tests {
		if _, err := test.subject(); err != nil {
			return true
		}
		for _, c := range test.Cases {
			for _, name := range c.Files() {
				f.uses(f.path(name))
			}
		}
		for _, given := range test.Given {
			f.uses(f.path(given.File))
		}
	}
	return len(f.problems) > 0 || r.Concerns(f.inputs)
}

// jobs returns the cases that are selected. A file with problems is one result.
func (r *runner) jobs(files []*testFile) []job {
	var jobs []job
	for _, f := range files {
		if len(f.problems) > 0 {
			result := controllertest.Result{
				File: f.name, Name: "the file", Location: engines.Location{File: f.name}, Outcome: controllertest.Errored,
			}
			for _, problem := range f.problems {
				result.Failures = append(result.Failures, controllertest.Failure{Location: problem.Location, Message: problem.Message})
			}
			jobs = append(jobs, job{file: f, known: &result})
			continue
		}
		for _, test := range f.tests {
			for i := range test.Cases {
				if id := (controllertest.Result{File: f.name, Name: test.Cases[i].Name}).ID(); r.Run == nil || r.Run.MatchString(id) {
					jobs = append(jobs, job{file: f, test: test, index: i})
				}
			}
		}
	}
	return jobs
}

// runAll runs cases at the same time, and reports their results in order.
func (r *runner) runAll(ctx context.Context, cancel context.CancelCauseFunc, jobs []job) {
	results := make([]controllertest.Result, len(jobs))
	done := make([]chan struct{}, len(jobs))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(max(r.Parallel, 1), len(jobs)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(jobs) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				results[i] = r.run(ctx, jobs[i])
				close(done[i])
			}
		})
	}
	defer workers.Wait()
	for i := range jobs {
		select {
		case <-done[i]:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return // The result is that of a case that was stopped.
		}
		r.report(results[i])
		if r.stopped {
			r.summary.NotRun = len(jobs) - i - 1
			cancel(errFailFast)
			return
		}
	}
}

// report reports a result.
func (r *runner) report(result controllertest.Result) {
	r.summary.Counts[result.Outcome]++
	r.Report(result)
	r.stopped = r.FailFast && (result.Outcome == controllertest.Failed || result.Outcome == controllertest.Errored)
}

// run runs a case.
func (r *runner) run(ctx context.Context, j job) controllertest.Result {
	if j.known != nil {
		return *j.known
	}
	c := &j.test.Cases[j.index]
	result := controllertest.Result{File: j.file.name, Name: c.Name, Location: c.Location}
	if c.Skip != "" {
		result.Outcome, result.Reason = controllertest.Skipped, c.Skip
		return result
	}
	subject, err := j.test.subject()
	if err != nil {
		result.Outcome, result.Failures = controllertest.Errored, failures(err)
		if n := len(j.test.Cases); n > 1 {
			result.Reason = fmt.Sprintf("this concerns all %d cases", n)
		}
		return result
	}
	start := time.Now()
	late := fmt.Errorf("it took longer than %s, which is what a case may take (--timeout)", r.Timeout)
	inTime, cancel := engines.WithBudget(ctx, r.Timeout, late)
	defer cancel()
	result = r.RunCase(inTime, r.Engines, j.test.ControllerTest, c, subject)
	if result.Duration == 0 {
		result.Duration = time.Since(start)
	}
	if errors.Is(context.Cause(inTime), late) && result.Outcome != controllertest.Passed {
		result.Outcome = controllertest.Failed
		result.Failures = []controllertest.Failure{{Location: c.Location, Message: late.Error()}}
	}
	return result
}

// runFunctions runs the tests of functions.
func (r *runner) runFunctions(ctx context.Context) error {
	if len(r.Functions) == 0 || ctx.Err() != nil {
		return nil
	}
	if r.RunFunctions == nil {
		for _, file := range r.Functions {
			r.Warn(file + ": left out: this program has no runner for tests of functions")
		}
		return nil
	}
	type outcome struct {
		results []controllertest.Result
		err     error
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ran, slots := make([]chan outcome, len(r.Functions)), make(chan struct{}, max(r.Parallel, 1))
	for i, file := range r.Functions {
		ran[i] = make(chan outcome, 1)
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results, err := r.RunFunctions(ctx, file)
			ran[i] <- outcome{results, err}
		})
	}
	for i := range ran {
		done := <-ran[i]
		if ctx.Err() != nil {
			return ctx.Err() // The results are those of tests that were stopped.
		}
		for n, result := range done.results {
			if r.report(result); r.stopped {
				r.summary.NotRun += len(done.results) - n - 1
				return nil
			}
		}
		if done.err != nil {
			return done.err
		}
	}
	return nil
}
