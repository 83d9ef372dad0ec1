package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/folder"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent/metrics"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
	"github.com/libretto-k8s/libretto/scripts"
)

// metricDescription is how a metric was registered.
type metricDescription struct {
	name, help string
	labels     []string
}

// recordingRegisterer keeps the descriptions of what is registered.
type recordingRegisterer struct {
	*prometheus.Registry
	descriptions []metricDescription
	// suffixes are those of the series of histograms and summaries.
	suffixes map[string][]string
}

var descriptionFormat = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: "(.*?)", constLabels: \{\}, variableLabels: \{(.*?)\}`)

func newRecordingRegisterer() *recordingRegisterer {
	return &recordingRegisterer{Registry: prometheus.NewRegistry(), suffixes: map[string][]string{}}
}

func (r *recordingRegisterer) MustRegister(collectors ...prometheus.Collector) {
	r.Registry.MustRegister(collectors...)
	for _, collector := range collectors {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for description := range descriptions {
			parts := descriptionFormat.FindStringSubmatch(description.String())
			if parts == nil {
				panic(fmt.Sprintf("unknown format: %s", description))
			}
			r.descriptions = append(r.descriptions, metricDescription{parts[1], parts[2], strings.FieldsFunc(parts[3], func(c rune) bool { return c == ',' })})
			switch collector.(type) {
			case *prometheus.HistogramVec, prometheus.Histogram:
				r.suffixes[parts[1]] = []string{"_sum", "_count", "_bucket"}
			case *prometheus.SummaryVec:
				r.suffixes[parts[1]] = []string{"_sum", "_count"}
			}
		}
	}
}

// ownMetrics registers all metrics of a host but those of libraries, and makes those of a definition exist that do so from its start.
func ownMetrics() *recordingRegisterer {
	registry := newRecordingRegisterer()
	registerBuildInfo(registry, cli.Build{})
	countLeader(registry, nil)
	metrics.New(registry).Begin("CompositeController hello")
	metrics.RegisterAnswerCache(registry, lru.New(1))
	scripts.NewMetrics(registry).Begin("CompositeController hello")
	controller.NewMetrics(registry)
	failover.New(registry, logr.Discard())
	sandbox.NewMetrics(registry)
	status.NewMetrics(registry)
	folder.New(folder.Config{}, registry)
	membership.NewMetrics(registry)
	return registry
}

// TestMetricNames holds all metrics to one rule: what is about definitions has the labels kind and definition, by which it can be joined,
// and a name that says so.
func TestMetricNames(t *testing.T) {
	registry := ownMetrics()
	for _, d := range registry.descriptions {
		has := slices.Contains(d.labels, "kind") && slices.Contains(d.labels, "definition")
		switch {
		case strings.HasPrefix(d.name, "workqueue_"):
			if !has || !slices.Contains(d.labels, "name") {
				t.Errorf("%s{%s}: want kind and definition, and name as other controllers have it", d.name, d.labels)
			}
		case has != strings.HasPrefix(d.name, definitionmetrics.Prefix), !has && (slices.Contains(d.labels, "definition") || slices.Contains(d.labels, "controller")):
			t.Errorf("%s{%s}: what begins with %s has the labels kind and definition, and nothing else has", d.name, d.labels, definitionmetrics.Prefix)
		}
	}
	// The type of a metric is only known of those that exist; the rest is linted by its name and help.
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range registry.descriptions {
		if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == d.name }) {
			kind := dto.MetricType_GAUGE
			switch {
			case strings.HasSuffix(d.name, "_total"):
				kind = dto.MetricType_COUNTER
			case strings.HasSuffix(d.name, "_seconds") && !slices.Contains(d.labels, "name"):
				kind = dto.MetricType_HISTOGRAM
			}
			families = append(families, &dto.MetricFamily{Name: &d.name, Help: &d.help, Type: &kind})
		}
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestMetricList checks the list of series by which test/monitoring, a module of its own, checks the alerts and the dashboard.
// The series go_* are left out: they change with Go.
func TestMetricList(t *testing.T) {
	registry, others := ownMetrics(), newRecordingRegisterer()
	registerClientMetrics(others)
	others.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var lines []string
	for _, r := range []*recordingRegisterer{registry, others} {
		for _, d := range r.descriptions {
			suffixes := r.suffixes[d.name]
			if suffixes == nil {
				suffixes = []string{""}
			}
			for _, suffix := range suffixes {
				labels := d.labels
				if suffix == "_bucket" {
					labels = append(slices.Clone(labels), "le")
				}
				lines = append(lines, fmt.Sprintf("%s%s{%s}\n", d.name, suffix, strings.Join(labels, ",")))
			}
		}
	}
	slices.Sort(lines)
	name, got := filepath.Join("..", "..", "..", "..", "test", "monitoring", "testdata", "metrics.txt"), strings.Join(lines, "")
	if *clitest.Update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("run go test ./cmd/libretto/internal/serve -run TestMetricList -update, then the tests of test/monitoring:\n%s", d)
	}
}

// TestCountersExist checks that counters of what goes wrong in a definition are there at 0, and so are the ends of workers.
func TestCountersExist(t *testing.T) {
	families, err := ownMetrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		series[family.GetName()] = len(family.GetMetric())
	}
	if got := series["libretto_script_worker_ends_total"]; got != 12 {
		t.Errorf("ends of workers have %d series, want one for each reason", got)
	}
	for name, want := range map[string]int{
		"hot_loops_total": 1, "hook_events_total": 1, "child_write_failures_total": 4, "script_load_errors_total": 1,
		"script_previews_total": 1,
	} {
		if got := series[definitionmetrics.Prefix+name]; got != want {
			t.Errorf("%s has %d series, want %d", name, got, want)
		}
	}
}

// fakeJob is the work of a job.
type fakeJob func()

func (w fakeJob) work() error { w(); return nil }
func (w fakeJob) close()      {}

// TestLeaderMetric checks that a process that waits for the lease has the metric too.
func TestLeaderMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	expect := func(when string, want float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "libretto_leader" || families[0].GetMetric()[0].GetGauge().GetValue() != want {
			t.Errorf("%s: %v, want %v (%v)", when, families, want, err)
		}
	}
	begin := countLeader(registry, func(context.Context, *rest.Config, *lease) (job, error) {
		return fakeJob(func() { expect("while it leads", 1) }), nil
	})
	w, err := begin(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect("before it leads", 0)
	if err := w.work(); err != nil {
		t.Error(err)
	}
	expect("after it has led", 0)
}
