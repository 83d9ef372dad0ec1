package monitoring

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"
)

var update = flag.Bool("update", false, "write docs/dashboard.svg")

const picture = root + "/docs/dashboard.svg"

// withoutData are the panels that stay empty after the demo, and why.
var withoutData = map[string]string{
	"Inputs of maps":   "the demo has no MapController",
	"Cached responses": "no hook of the demo has a response cache",
}

// TestPanelsAfterDemo checks that each panel of the dashboard has data after the demo, by the record of metrics that
// DEMO_METRICS names: test/demo writes it with -metrics.
func TestPanelsAfterDemo(t *testing.T) {
	file := os.Getenv("DEMO_METRICS")
	if file == "" {
		t.Skip("DEMO_METRICS names no record of the demo: make integration makes one")
	}
	r := readRecord(t, file)
	drawn := map[int]promql.Matrix{}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "10s") // What Grafana takes for scrapes each second, at least.
			drawn[p.ID] = append(drawn[p.ID], r.query(t, withVariables.Replace(expr))...)
		}
		switch reason := withoutData[p.Title]; {
		case p.Type == "row":
		case len(drawn[p.ID]) == 0 && reason == "":
			t.Errorf("%s has no data after the demo", p.Title)
		case len(drawn[p.ID]) > 0 && reason != "":
			t.Errorf("%s has data, although %s", p.Title, reason)
		}
	}
	if *update {
		if err := os.WriteFile(picture, draw(readDashboard(t), drawn, r), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// record holds what a host exposed while the demo ran.
type record struct {
	storage    *teststorage.TestStorage
	engine     *promql.Engine
	start, end time.Time
}

// readRecord reads a file of scrapes as test/steps writes them.
func readRecord(t *testing.T, name string) *record {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := &record{
		storage: teststorage.New(t),
		engine:  promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery),
	}
	lines := json.NewDecoder(bufio.NewReader(file))
	for {
		var scrape struct {
			Time time.Time
			Text string
		}
		if err := lines.Decode(&scrape); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.start.IsZero() {
			r.start = scrape.Time
		}
		r.end = scrape.Time
		if err := r.add(t, scrape.Time, []byte(scrape.Text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if r.end.Sub(r.start) < 5*time.Second {
		t.Fatalf("%s is of %s only", name, r.end.Sub(r.start))
	}
	return r
}

// add stores the samples of a scrape, with the labels that Prometheus adds.
func (r *record) add(t *testing.T, at time.Time, text []byte) error {
	scraped, err := textparse.New(text, "text/plain", nil, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	appender := r.storage.Appender(t.Context())
	for {
		entry, err := scraped.Next()
		if errors.Is(err, io.EOF) {
			return appender.Commit()
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		scraped.Labels(&series)
		_, _, value := scraped.Series()
		series = labels.NewBuilder(series).Set("job", "libretto").Set("instance", "demo").Labels()
		if _, err := appender.Append(0, series, at.UnixMilli(), value); err != nil {
			return err
		}
	}
}

// query returns the series of an expression for each second of the record, without those that have no number.
func (r *record) query(t *testing.T, expr string) promql.Matrix {
	t.Helper()
	query, err := r.engine.NewRangeQuery(t.Context(), r.storage, nil, expr, r.start, r.end, time.Second)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	matrix, err := result.Matrix()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var found promql.Matrix
	for _, series := range matrix {
		points := slices.DeleteFunc(slices.Clone(series.Floats), func(p promql.FPoint) bool { return math.IsNaN(p.F) || math.IsInf(p.F, 0) })
		if len(points) > 0 {
			found = append(found, promql.Series{Metric: series.Metric.Copy(), Floats: points})
		}
	}
	return found
}
