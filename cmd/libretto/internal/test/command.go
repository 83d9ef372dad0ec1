package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/controllers/controllertest/functiontest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
)

type testOptions struct {
	run         string
	parallel    int
	shuffle     string
	failFast    bool
	slowest     int
	update      bool
	watch       bool
	changed     string
	output      string
	outputFile  string
	timeout     time.Duration
	showSecrets bool
	verbose     bool
	failOnEmpty bool
	scriptsDir  string
	coverage    coverageOptions
	exploring   exploreOptions
	benching    benchOptions
}

// Command returns libretto test.
func Command(w cli.Process) *cobra.Command {
	o := defaultOptions()
	c := &cobra.Command{
		Use:   "test [FILE|DIRECTORY...]",
		Short: "Run the tests of definitions without a cluster",
		Long: `Run the tests of definitions without a cluster.

Tests are files *_test.yaml of kind ControllerTest, and *.test.js, *.test.ts and
*_test.jsonnet for functions alone. Directories are searched with all that is
below them, except what is hidden, node_modules and vendor; the default is the
present one. Each case runs on a cluster of its own in memory: the same reconciler and
the same engines as in a host, scripts in worker processes, and the schemas of
the CustomResourceDefinitions beside the definition.

The exit code is 0 if all cases passed or were skipped, 1 if one failed, and 2
if one could not be run: a file or a flag is wrong, a definition or a script
does not load, or there are no cases.`,
		Example: `  libretto test
  libretto test app/ --run 'rollout' -v
  libretto test app/web_test.yaml --watch
  libretto test -o junit --output-file report.xml`,
		RunE: func(c *cobra.Command, args []string) error { return runTest(c.Context(), w, o, args) },
	}
	o.addTo(c.Flags())
	cli.LimitFlag(c, "output", Formats...)
	cli.Finish(c, cli.Conduct{
		Success:  "all cases passed or were skipped; `--watch` was ended",
		Problems: "a case failed, or less is covered than `--coverage-min` says",
		Cannot:   "a case could not be run: a flag, a file, a definition or a script is wrong; there are no cases",
		Stdout:   "results, then coverage",
		Stderr:   "files that are left out, warnings, the seed of `--shuffle`; the summary, unless standard output has it",
		Colour:   "`-o text`",
	})
	return c
}

func defaultOptions() *testOptions {
	return &testOptions{parallel: runtime.GOMAXPROCS(0), shuffle: "off", output: "text", timeout: 30 * time.Second, failOnEmpty: true}
}

func (o *testOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.run, "run", o.run, "run the cases whose \"FILE: NAME\" matches a regular expression")
	f.IntVarP(&o.parallel, "parallel", "j", o.parallel, "how many cases run at once (default the number of processors)")
	f.Lookup("parallel").DefValue = "0"
	f.StringVar(&o.shuffle, "shuffle", o.shuffle, "run the cases in another order: a seed, on or 0 (a new seed, which is printed), or off")
	f.BoolVar(&o.failFast, "fail-fast", o.failFast, "stop after the first case that fails")
	f.IntVar(&o.slowest, "slowest", o.slowest, "list that many of the slowest cases")
	f.BoolVar(&o.update, "update", o.update, "write golden files and snapshots in place of comparing them")
	f.BoolVar(&o.watch, "watch", o.watch, "go on, and run the tests again that a changed file concerns")
	f.StringVar(&o.changed, "changed", o.changed, "run the tests that depend on a file that is not as in a commit: HEAD, or as in --changed=main")
	f.Lookup("changed").NoOptDefVal = "HEAD"
	f.StringVarP(&o.output, "output", "o", o.output, "format: "+strings.Join(Formats, ", ")+" (annotations of a workflow)")
	f.StringVar(&o.outputFile, "output-file", o.outputFile, "file for the format of -o; standard output then has text")
	f.DurationVar(&o.timeout, "timeout", o.timeout,
		"how long a case may take, without what scripts wait for a processor; with --explore ten times as long")
	f.BoolVar(&o.showSecrets, "show-secrets", o.showSecrets, "show the values of Secrets")
	f.BoolVarP(&o.verbose, "verbose", "v", o.verbose, "show cases that pass, and the lines that their hooks logged")
	f.BoolVar(&o.failOnEmpty, "fail-on-empty", o.failOnEmpty, "exit with 2 if there are no cases")
	f.StringVar(&o.scriptsDir, "scripts-dir", o.scriptsDir, "directory that script sources of kind directory are below, like that of serve")
	o.coverage.addTo(f)
	o.exploring.addTo(f)
	o.benching.addTo(f)
}

// testRun is one use of the command.
type testRun struct {
	cli.Process
	*testOptions
	paths    []string
	selects  *regexp.Regexp
	seed     uint64
	registry *engines.Registry
	// concerns reports whether tests depend on a changed file. Nil means that all are run.
	concerns func(suite.Inputs) bool
	// collector collects the coverage of the run, and covered is the result. They are nil if it is not counted.
	collector *coverage.Collector
	covered   *coverage.Report
	// slots bounds the calls of tests of functions by the number of workers.
	slots chan struct{}
}

// runTest runs tests, and returns an *cli.ExitError unless all is well.
func runTest(ctx context.Context, w cli.Process, o *testOptions, args []string) error {
	t := &testRun{Process: w, testOptions: o, paths: args}
	if len(args) == 0 {
		t.paths = []string{"."}
	}
	if err := t.check(); err != nil {
		return cli.Cannot(err)
	}
	defer cli.CollectSeldom()()
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	t.use(registry)
	if t.watch {
		return cli.Cannot(t.watchFiles(ctx))
	}
	found, err := t.find()
	if err == nil && t.changed != "" {
		err = t.selectChanged(ctx, found)
	}
	if err != nil {
		return cli.Cannot(err)
	}
	summary, err := t.runFound(ctx, found)
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Cannot(errors.New("stopped before all cases were run"))
	case err != nil:
		return cli.Cannot(err)
	case summary.Total() == 0 && t.concerns != nil:
		fmt.Fprintf(t.Stderr, "no test depends on a file that is not as in %s\n", t.changed)
	case summary.Total() == 0 && o.failOnEmpty:
		return cli.Cannot(t.noCases(found))
	}
	if err := outcome(summary); err != nil || !o.coverage.isOn() {
		return err
	}
	return o.coverage.enough(t.covered)
}

// use sets the engines that run the scripts.
func (t *testRun) use(registry *engines.Registry) {
	t.registry, t.slots = registry, make(chan struct{}, min(t.parallel, max(2, runtime.GOMAXPROCS(0))))
}

// outcome returns the exit code for results.
func outcome(summary *suite.Summary) error {
	switch {
	case summary.Counts[controllertest.Errored] > 0:
		return cli.ExitWith(cli.ExitCannot, nil)
	case summary.Counts[controllertest.Failed] > 0:
		return cli.ExitWith(cli.ExitProblems, nil)
	default:
		return nil
	}
}

// noCases returns the error for a run without cases.
func (t *testRun) noCases(found *suite.Found) error {
	const hint = "--fail-on-empty=false makes that no error"
	where := strings.Join(t.paths, ", ")
	if t.selects != nil && len(found.Cases)+len(found.Functions) > 0 {
		return fmt.Errorf("%s: no case matches --run %s, which is compared with \"FILE: NAME\" (%s)", where, t.run, hint)
	}
	kinds := append([]string{controllertest.FileSuffix + " of kind " + controllertest.Kind}, t.registry.TestEndings()...)
	last := len(kinds) - 1
	return fmt.Errorf("%s: there are no tests: they are files *%s and *%s (%s)", where, strings.Join(kinds[:last], ", *"), kinds[last], hint)
}

// check reads the flags.
func (t *testRun) check() (err error) {
	switch {
	case t.watch && (t.output != "text" || t.outputFile != ""):
		return errors.New("--watch has no end, and so no document: it is for -o text without --output-file")
	case t.watch && t.changed != "":
		return errors.New("--watch runs what changes concern, from now on: leave it or --changed out")
	case t.parallel < 1:
		return fmt.Errorf("--parallel %d: must be at least 1", t.parallel)
	case t.timeout <= 0:
		return fmt.Errorf("--timeout %s: must be more than nothing", t.timeout)
	case t.slowest < 0:
		return fmt.Errorf("--slowest %d: must not be negative", t.slowest)
	}
	if err := errors.Join(t.coverage.check(t.watch), t.exploring.check(), t.checkBench()); err != nil {
		return err
	}
	if t.run != "" {
		if t.selects, err = regexp.Compile(t.run); err != nil {
			return fmt.Errorf("--run: %w", err)
		}
	}
	switch t.shuffle {
	case "off":
	case "on", "0":
		t.seed = rand.Uint64N(1<<32-1) + 1
	default:
		if t.seed, err = strconv.ParseUint(t.shuffle, 10, 64); err != nil {
			return fmt.Errorf("--shuffle %s: must be a number, on or off", t.shuffle)
		}
	}
	return nil
}

// find returns the test files.
func (t *testRun) find() (*suite.Found, error) {
	found, err := suite.Find(t.registry, t.paths...)
	if err != nil {
		return nil, err
	}
	for _, file := range found.Skipped {
		fmt.Fprintln(t.Stderr, file)
	}
	return found, nil
}

// runFound runs test files and reports the results.
func (t *testRun) runFound(ctx context.Context, found *suite.Found) (summary *suite.Summary, err error) {
	start := time.Now()
	reporters, closeFile, err := t.reporters()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeFile(err == nil)) }()
	if t.seed != 0 {
		fmt.Fprintf(t.Stderr, "the order is that of --shuffle %d\n", t.seed)
	}
	var all []controllertest.Result
	var failed error // The first one: what can't be written once can't be written again.
	t.collector = t.coverage.collector()
	options := t.suiteOptions(found)
	options.Report = func(result controllertest.Result) {
		all = append(all, result)
		for _, r := range reporters {
			failed = cmp.Or(failed, r.Report(result))
		}
	}
	t.exploring.apply(&options, func(text string) { fmt.Fprintln(t.Stderr, text) })
	measured := t.benching.apply(&options)
	summary, err = suite.Run(ctx, options)
	if err != nil {
		return summary, err
	}
	total := Summary{
		Summary: *summary, Seed: t.seed, Duration: time.Since(start), Slowest: slowest(all, t.slowest),
	}
	if t.collector != nil {
		t.covered = t.collector.Report()
		total.Coverage = t.covered
	}
	if measured != nil {
		total.Benchmarks = measured.all
	}
	if total.Total() > 0 || t.output != "text" {
		for _, r := range reporters {
			failed = cmp.Or(failed, r.Close(total))
		}
	}
	out := t.Stdout
	if t.output != "text" && t.outputFile == "" {
		fmt.Fprintln(t.Stderr, total)
		out = t.Stderr
	}
	if t.covered != nil {
		failed = errors.Join(failed, t.coverage.write(out, t.covered))
	}
	if measured != nil {
		failed = errors.Join(failed, measured.write(out))
	}
	return summary, failed
}

// suiteOptions returns how test files are run.
func (t *testRun) suiteOptions(found *suite.Found) suite.Options {
	return suite.Options{
		Cases: found.Cases, Functions: found.Functions, Engines: t.registry, ScriptsDir: t.scriptsDir, Run: t.selects, Concerns: t.concerns,
		Parallel: t.parallel, Shuffle: t.seed, FailFast: t.failFast, Update: t.update, ShowSecrets: t.showSecrets, Timeout: t.timeout,
		Coverage: t.collector, RunFunctions: t.runFunctions,
		Warn:    func(text string) { fmt.Fprintln(t.Stderr, "warning:", text) },
		Updated: func(file string) { fmt.Fprintln(t.Stderr, "wrote", file) },
	}
}

// runFunctions runs the selected tests of a file of functions. Its module tree is its folder.
func (t *testRun) runFunctions(ctx context.Context, file string) ([]controllertest.Result, error) {
	options := functiontest.Options{
		Timeout: min(t.timeout, functiontest.DefaultTimeout), Parallel: t.parallel, Slots: t.slots, Coverage: t.collector,
	}
	if t.selects != nil {
		options.Select = func(name string) bool {
			return t.selects.MatchString(controllertest.Result{File: file, Name: name}.ID())
		}
	}
	return functiontest.Run(ctx, t.registry, filepath.Dir(file), file, options)
}

// slowest returns the slowest results.
func slowest(all []controllertest.Result, n int) []controllertest.Result {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b controllertest.Result) int { return cmp.Compare(b.Duration, a.Duration) })
	return all[:min(n, len(all))]
}

// reporters returns those of -o and --output-file. closeFile takes whether the run is complete: if not, there is to be no file
// that looks like its results.
func (t *testRun) reporters() (all []Reporter, closeFile func(complete bool) error, err error) {
	lines := lineReader{}
	options := Options{Colour: t.Process.IsColoured(), Verbose: t.verbose, Line: lines.line, Rerun: t.rerun}
	if t.outputFile == "" {
		r, err := New(t.output, t.Stdout, options)
		return []Reporter{r}, func(bool) error { return nil }, err
	}
	onTerminal, err := New("text", t.Stdout, options)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Create(t.outputFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--output-file: %w", err)
	}
	options.Colour = false
	r, err := New(t.output, f, options)
	return []Reporter{onTerminal, r}, func(complete bool) error {
		info, err := f.Stat()
		err = errors.Join(err, f.Close())
		if complete || err != nil || !info.Mode().IsRegular() {
			return err
		}
		return os.Remove(t.outputFile)
	}, err
}

// rerun returns the command that runs one case.
func (t *testRun) rerun(r controllertest.Result) string {
	words := []string{"libretto", "test", r.File}
	if t.IsPlugin {
		words = slices.Insert(words, 0, "kubectl")
	}
	if r.Location.Line > 0 {
		words = append(words, "--run", "^"+regexp.QuoteMeta(r.ID())+"$")
	}
	if t.scriptsDir != "" {
		words = append(words, "--scripts-dir", t.scriptsDir)
	}
	words = append(words, t.exploring.arguments()...)
	for i, word := range words {
		words[i] = cli.ShellQuoted(word)
	}
	return strings.Join(words, " ")
}

// lineReader reads lines of files, and keeps the files.
type lineReader map[string][]string

// maxLineFile is how large a file may be whose lines are shown.
const maxLineFile = 16 << 20

// line returns a line of a file, or an empty text.
func (l lineReader) line(file string, line int) string {
	lines, known := l[file]
	if !known {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() <= maxLineFile {
			text, err := os.ReadFile(file)
			if err == nil {
				lines = strings.Split(string(text), "\n")
			}
		}
		l[file] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1]
}
