package monitoring

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// dashboard is what is checked of Grafana's format.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, files+"dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// withVariables puts in what Grafana does for the variables.
var withVariables = strings.NewReplacer("$__rate_interval", "5m", "$kind", ".*", "$definition", ".*", "$job", ".*")

// TestDashboard checks that each panel asks for what a host exposes, and that panels do not lie on each other.
func TestDashboard(t *testing.T) {
	d, series := readDashboard(t), exposed(t)
	var variables, rows []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		query, ok := v.Query.(map[string]any)
		if !ok {
			continue
		}
		selector, label, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(query["query"].(string), "label_values("), ")"), ", ")
		for _, problem := range problems("count by ("+label+") ("+withVariables.Replace(selector)+")", series) {
			t.Errorf("variable %s: %s", v.Name, problem)
		}
	}
	if want := []string{"datasource", "job", "kind", "definition"}; !slices.Equal(variables, want) {
		t.Errorf("variables %q, want %q", variables, want)
	}
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: another panel has the number %d, too", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" || at[0] >= 24 {
					t.Errorf("%s lies on %q at %v", p.Title, taken[at], at)
				}
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 || p.Description == "" {
			t.Errorf("%s has no query or no description", p.Title)
		}
		for _, target := range p.Targets {
			for _, problem := range problems(withVariables.Replace(target.Expr), series) {
				t.Errorf("%s: %s", p.Title, problem)
			}
		}
	}
	if want := []string{"Hosts", "Definitions", "Edits", "Hooks", "Queue", "Memory", "API requests"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}
