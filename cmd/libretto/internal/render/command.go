package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// renderFormats are the formats of -o.
var renderFormats = []string{"yaml", "diff", "request", "json", "test"}

// renderHooks are the hooks of --hook.
var renderHooks = []string{
	string(v1alpha1.SyncHook), string(v1alpha1.FinalizeHook), string(v1alpha1.CustomizeHook), string(v1alpha1.MapHookName),
	string(v1alpha1.TombstoneHook),
}

type renderOptions struct {
	manifests    cli.ManifestFlags
	output       string
	parent       string
	hook         string
	steps        int
	untilSettled bool
	ready        string
	now          string
	answers      []string
	showSecrets  bool
	timeout      time.Duration
	host         cli.HostFlags
}

// Command returns libretto render.
func Command(w cli.Process) *cobra.Command {
	o := &renderOptions{output: "yaml", steps: 1, ready: "all", timeout: time.Minute, host: cli.NewHostFlags()}
	c := &cobra.Command{
		Use:   "render -f FILE|DIRECTORY|-",
		Short: "Show what a host would do for the parents in files, without a cluster",
		Long: `Show what a host would do for the parents in files, without a cluster.

The definitions among the files are run as in a host, on a cluster in memory
that holds the other objects: the same reconciler, the same engines, scripts in
worker processes, and the schemas of the CustomResourceDefinitions among the
files. Nothing is sent anywhere: a webhook needs an answer from a file.

The children go to standard output; status, events, lines that hooks log and the
time of the next sync go to standard error. The exit code is 0 if all went well,
1 if a hook failed, a write was refused or nothing settled, and 2 if the command
could not be run.`,
		Example: `  libretto render -f app/ | kubectl apply --dry-run=server -f -
  libretto render -f app/ --parent WebApp/default/shop -o diff
  libretto render -f app/ --until-settled --ready 'Deployment/*' -o diff
  libretto render -f app/ --until-settled -o test > app/app_test.yaml
  libretto render -f app/ -o request | curl -d @- http://localhost:8080/sync`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.untilSettled && c.Flags().Changed("steps") {
				return cli.Cannot(errors.New("--steps and --until-settled: give one of them"))
			}
			return runRender(c.Context(), w, o, args)
		},
	}
	o.addTo(c.Flags())
	o.host.AddTo(c)
	cli.LimitFlag(c, "output", renderFormats...)
	cli.LimitFlag(c, "hook", renderHooks...)
	cli.CompleteFlag(c, "ready", "all", "none")
	cli.Finish(c, cli.Conduct{
		Success: "all passes went well", Problems: "a hook failed, a write was refused, or nothing settled",
		Cannot: "a file or a flag is wrong, or a script does not load",
		Stdin:  "manifests, with -f -", Stdout: "the children, or what -o says", Stderr: "status, events, lines of hooks, the next sync; errors",
		Colour: "-o diff",
	})
	return c
}

func (o *renderOptions) addTo(f *pflag.FlagSet) {
	o.manifests.AddTo(f)
	f.StringVarP(&o.output, "output", "o", o.output,
		"yaml (the children), diff (what the host does), request (the bodies that webhooks get), json, or test (a test file that passes, with --until-settled)")
	f.StringVar(&o.parent, "parent", o.parent, "the parent to render, as KIND/NAMESPACE/NAME, KIND/NAME or NAME (default all among the files)")
	f.StringVar(&o.hook, "hook", o.hook,
		"show requests and answers of one hook: "+strings.Join(renderHooks, ", ")+
			"; for finalize the parent is deleted, for tombstone the inputs are")
	f.IntVar(&o.steps, "steps", o.steps, "how many passes to make over each parent")
	f.BoolVar(&o.untilSettled, "until-settled", o.untilSettled, "make passes until nothing changes any more")
	f.StringVar(&o.ready, "ready", o.ready,
		"which objects other controllers make ready between passes: all, none, or names like NAME, KIND/NAME and KIND/NAMESPACE/NAME, with * for any text, separated by commas")
	f.StringVar(&o.now, "now", o.now,
		"the time of the first pass, like 2026-01-01T00:00:00Z; each further pass is a second later (default the present)")
	f.StringArrayVar(&o.answers, "answer", nil, "HOOK=FILE: the answer of a hook, as YAML or JSON, in place of its webhook or script")
	f.BoolVar(&o.showSecrets, "show-secrets", o.showSecrets, "show the values of Secrets")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long it may take in all, by the clock")
}

// runRender renders, and returns an *cli.ExitError unless all is well.
func runRender(ctx context.Context, w cli.Process, o *renderOptions, args []string) error {
	ready, err := readySelector(o.ready)
	if err != nil {
		return cli.Cannot(err)
	}
	options, err := o.options(w)
	if err != nil {
		return cli.Cannot(err)
	}
	options.Ready = ready.selects
	files, err := o.manifests.Options(args, w.Stdin)
	if err != nil {
		return cli.Cannot(err)
	}
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	if options.Set, err = manifest.LoadValid(ctx, files); err != nil {
		return cli.Cannot(err)
	}
	options.Namespace, options.Engines = o.manifests.Namespace, registry
	ctx, cancel := cli.WithTimeout(ctx, o.timeout)
	defer cancel()
	renderings, failed := Render(ctx, options)
	if failed != nil && errors.Is(ctx.Err(), context.Canceled) {
		return cli.Cannot(errors.New("stopped before it was done"))
	}
	if options.Steps != 1 {
		for _, name := range ready.unmatched() {
			options.Warn(fmt.Sprintf("--ready %s: no object has that name", name))
		}
	}
	if err := o.write(ctx, w, files, options, renderings, failed); err != nil {
		return cli.Cannot(err)
	}
	var input *InputError
	switch {
	case failed != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return cli.ExitWith(cli.ExitProblems, fmt.Errorf("it took longer than --timeout %s: %w", o.timeout, failed))
	case errors.As(failed, &input):
		return cli.Cannot(failed)
	case o.output == "request" && errors.Is(failed, ErrNotCalled):
		return nil
	case failed != nil:
		return cli.ExitWith(cli.ExitProblems, failed)
	default:
		return nil
	}
}

// options returns the options without files and engines.
func (o *renderOptions) options(w cli.Process) (Options, error) {
	host, err := o.host.Host()
	if err != nil {
		return Options{}, err
	}
	options := Options{
		Parent: o.parent, Hook: o.hook, Steps: o.steps, Host: host, Now: time.Now().Truncate(time.Second),
		Warn: func(text string) { fmt.Fprintln(w.Stderr, "warning:", text) },
	}
	if o.steps < 1 {
		return options, fmt.Errorf("--steps %d: must be at least 1", o.steps)
	}
	if err := o.checkTest(); err != nil {
		return options, err
	}
	if o.untilSettled {
		options.Steps = 0
	}
	if o.output == "test" {
		options.WithoutSecrets, options.Now = !o.showSecrets, controllertest.DefaultNow
	}
	if o.now != "" {
		if options.Now, err = time.Parse(time.RFC3339, o.now); err != nil {
			return options, fmt.Errorf("--now %s: must be a time like 2026-01-01T00:00:00Z", o.now)
		}
	}
	options.Answers, err = readAnswers(o.answers)
	return options, err
}

// readyNames are the names of --ready.
type readyNames struct {
	all     bool
	names   []string
	matched map[string]bool
}

// readySelector reads --ready.
func readySelector(text string) (*readyNames, error) {
	if text == "all" || text == "none" {
		return &readyNames{all: text == "all"}, nil
	}
	r := &readyNames{names: strings.Split(text, ","), matched: map[string]bool{}}
	for _, name := range r.names {
		if _, err := path.Match(name, ""); err != nil || name == "" {
			return nil, fmt.Errorf("--ready %s: %q is no name and no pattern of one", text, name)
		}
	}
	return r, nil
}

// selects reports whether an object is to become ready.
func (r *readyNames) selects(object *unstructured.Unstructured) bool {
	selected := r.all
	for _, name := range r.names {
		if Matches(name, object) {
			r.matched[name], selected = true, true
		}
	}
	return selected
}

// unmatched returns the names that no object had.
func (r *readyNames) unmatched() []string {
	return slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return r.matched[name] })
}

// readAnswers reads the files of --answer.
func readAnswers(given []string) (map[string]any, error) {
	answers := map[string]any{}
	for _, entry := range given {
		hook, file, found := strings.Cut(entry, "=")
		if !found {
			return nil, fmt.Errorf("--answer %s: must be HOOK=FILE", entry)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--answer %s: %w", entry, err)
		}
		var answer any
		asJSON, err := yaml.YAMLToJSONStrict(text)
		if err == nil {
			err = json.Unmarshal(asJSON, &answer)
		}
		if err != nil {
			return nil, fmt.Errorf("--answer %s: %w", entry, err)
		}
		answers[hook] = answer
	}
	return answers, nil
}

// write writes the renderings and the report about them.
func (o *renderOptions) write(
	ctx context.Context, w cli.Process, files manifest.Options, options Options, renderings []*Rendering, failed error,
) error {
	report := Output{Out: w.Stderr, ShowSecrets: o.showSecrets}
	if err := report.Report(renderings); err != nil {
		return err
	}
	out := Output{Out: w.Stdout, ShowSecrets: o.showSecrets, Hook: o.hook, Colour: w.IsColoured()}
	if o.output == "diff" {
		return out.Diff(renderings)
	}
	if cli.IsTerminal(w.Stdout) { // Programs get texts of others as they are, and people do not.
		out.Out = printable.Writer(w.Stdout)
	}
	switch o.output {
	case "request":
		return out.Requests(renderings)
	case "json":
		return out.JSON(renderings)
	case "test":
		if failed != nil {
			return nil // It would be a test of a failure.
		}
		return o.writeTest(w, files, options, renderings, func(of manifest.Options) (*manifest.Set, error) { return manifest.Load(ctx, of) })
	default:
		return out.YAML(renderings)
	}
}
