package monitoring

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	root     = "../.."
	files    = root + "/manifests/helm/libretto/files/"
	runbooks = root + "/docs/runbooks/"
	// runbookURL is where people read the pages.
	runbookURL = "https://github.com/libretto-k8s/libretto/blob/main/docs/runbooks/"
)

// readAlerts returns the rules of alerts.yaml, as Prometheus reads them.
func readAlerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(files+"alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// exposed reads the list of series that a host exposes, with their labels. A test of the host keeps it.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	series := map[string][]string{}
	for line := range strings.Lines(read(t, "testdata/metrics.txt")) {
		name, list, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "}"), "{")
		series[name] = strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
	}
	if len(series) < 50 {
		t.Fatalf("%d series: nothing would be checked", len(series))
	}
	return series
}

// targetLabels are those that Prometheus adds when it scrapes.
var targetLabels = []string{"job", "instance", "namespace", "pod"}

// problems returns what is wrong with an expression: its syntax, metrics that no host has, labels that they do not have.
func problems(expr string, series map[string][]string) []string {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	all := slices.Clone(targetLabels)
	var grouped []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			has, ok := series[node.Name]
			if !ok {
				found = append(found, fmt.Sprintf("no host exposes %s", node.Name))
			}
			all = append(all, has...)
			for _, m := range node.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(has, m.Name) && !slices.Contains(targetLabels, m.Name) {
					found = append(found, fmt.Sprintf("%s has no label %s", node.Name, m.Name))
				}
			}
		case *parser.AggregateExpr:
			grouped = append(grouped, node.Grouping...)
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				grouped = append(grouped, slices.Concat(node.VectorMatching.MatchingLabels, node.VectorMatching.Include)...)
			}
		}
		return nil
	})
	for _, name := range grouped {
		if !slices.Contains(all, name) {
			found = append(found, fmt.Sprintf("no metric of the expression has the label %s", name))
		}
	}
	return found
}

// TestProblems checks the check.
func TestProblems(t *testing.T) {
	series := map[string][]string{"a_total": {"kind"}}
	for expr, want := range map[string]string{
		`sum by (kind, job) (rate(a_total{kind="x"}[5m])) > 0`: "",
		`sum by (kind) (a_total`:                               "unclosed left parenthesis",
		`b_total > 0`:                                          "no host exposes b_total",
		`a_total{reason="x"}`:                                  "a_total has no label reason",
		`sum by (reason) (a_total)`:                            "has the label reason",
		`a_total * on (hook) a_total`:                          "has the label hook",
	} {
		if got := strings.Join(problems(expr, series), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestAlerts checks that each alert asks for what a host exposes, and says how severe it is, what is the matter, and where to read on.
func TestAlerts(t *testing.T) {
	series := exposed(t)
	for _, rule := range readAlerts(t) {
		for _, problem := range problems(rule.Expr, series) {
			t.Errorf("%s: %s", rule.Alert, problem)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s: severity %q", rule.Alert, rule.Labels["severity"])
		}
		for _, name := range []string{"summary", "description"} {
			if rule.Annotations[name] == "" {
				t.Errorf("%s has no %s", rule.Alert, name)
			}
		}
		if want := runbookURL + rule.Alert + ".md"; rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
}

// command matches a call of libretto in a page.
var command = regexp.MustCompile("(?m)(?:^    |`)libretto ((?:rollout )?[a-z]+)")

// TestRunbooks checks that each alert has its page, linked in the list of pages, that no other page is there, and that the commands exist.
func TestRunbooks(t *testing.T) {
	index, reference := read(t, runbooks+"README.md"), read(t, root+"/docs/reference/cli.md")
	want := []string{"README.md"}
	for _, rule := range readAlerts(t) {
		want = append(want, rule.Alert+".md")
		if row := fmt.Sprintf("| [%s](%[1]s.md) | %s |\n", rule.Alert, rule.Labels["severity"]); !strings.Contains(index, row) {
			t.Errorf("the list of runbooks has no row %s", row)
		}
	}
	pages, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	var got []string
	for _, page := range pages {
		got = append(got, page.Name())
		for _, found := range command.FindAllStringSubmatch(read(t, runbooks+page.Name()), -1) {
			commands++
			if !strings.Contains(reference, "\n## "+found[1]+"\n") {
				t.Errorf("%s: there is no command libretto %s", page.Name(), found[1])
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("pages %q, want %q", got, want)
	}
	if commands < 10 {
		t.Errorf("found %d commands: nothing is checked", commands)
	}
}

// alertTests names what promtool runs: which alerts fire, and which stay quiet.
const alertTests = "testdata/alerts_test.yaml"

// TestAlertRules runs the tests of the alerts by promtool, which make builds.
func TestAlertRules(t *testing.T) {
	promtool, err := filepath.Abs(root + "/bin/tools/promtool")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(promtool); err != nil {
		t.Skip("bin/tools/promtool is not built: make monitoring")
	}
	out, err := exec.CommandContext(context.Background(), promtool, "test", "rules", alertTests).CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	tests := read(t, alertTests)
	for _, rule := range readAlerts(t) {
		for _, state := range []string{"fires", "quiet"} {
			if !strings.Contains(tests, "- name: "+rule.Alert+" "+state+"\n") {
				t.Errorf("%s has no case %q", alertTests, rule.Alert+" "+state)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
