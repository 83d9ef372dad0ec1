package status

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestDefinitionMetrics checks the gauges of a map: a series for each state and condition, whoever else writes conditions, and none once it
// is gone.
func TestDefinitionMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	key := controller.Key{Kind: v1alpha1.GroupVersion.WithKind(v1alpha1.MapControllerKind), Name: "m"}
	status := v1alpha1.DefinitionStatus{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionParentsSynced, Status: metav1.ConditionFalse},
		{Type: "Theirs", Status: metav1.ConditionTrue},
	}}
	summary := &parent.Summary{Parents: 6, Synced: 3, Failing: 2, Pending: 1, SyncedInputs: 8, WaitingInputs: 1}
	m.Set(key, status, Parents{Summary: summary, IsMap: true})
	want := `
		# HELP libretto_definition_inputs Inputs of maps, by state: synced, failing or waiting.
		# TYPE libretto_definition_inputs gauge
		libretto_definition_inputs{definition="m",kind="MapController",state="failing"} 0
		libretto_definition_inputs{definition="m",kind="MapController",state="synced"} 8
		libretto_definition_inputs{definition="m",kind="MapController",state="waiting"} 1
		# HELP libretto_definition_parents Parents, by state: synced, failing, waiting, or pending before the first sync.
		# TYPE libretto_definition_parents gauge
		libretto_definition_parents{definition="m",kind="MapController",state="failing"} 2
		libretto_definition_parents{definition="m",kind="MapController",state="pending"} 1
		libretto_definition_parents{definition="m",kind="MapController",state="synced"} 3
		libretto_definition_parents{definition="m",kind="MapController",state="waiting"} 0
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "libretto_definition_parents", "libretto_definition_inputs"); err != nil {
		t.Error(err)
	}
	for kind, want := range map[string]float64{"Ready": 1, "ParentsSynced": 0, "Accepted": -1} {
		if got := testutil.ToFloat64(m.conditions.WithLabelValues(v1alpha1.MapControllerKind, "m", kind)); got != want {
			t.Errorf("%s is %v, want %v", kind, got, want)
		}
	}
	if n := testutil.CollectAndCount(m.conditions); n != 4 {
		t.Errorf("%d series of conditions, want one for each of four", n)
	}
	for _, c := range []struct{ kind, status, reason, want string }{
		{"Stalled", "True", "Held", "Stalled Held"}, {"Stalled", "True", "ScriptInvalid", "Stalled ScriptInvalid"},
		{"Reconciling", "True", "RollingOut", "Reconciling RollingOut"}, {"Progressing", "True", "Pinned", "Pinned Pinned"},
		{"Progressing", "True", "Serving", ""},
	} {
		condition := metav1.Condition{Type: c.kind, Status: metav1.ConditionStatus(c.status), Reason: c.reason}
		m.Set(key, v1alpha1.DefinitionStatus{Conditions: []metav1.Condition{condition}}, Parents{})
		if got := strings.Join(seriesOf(t, registry, "libretto_definition_pending_edit"), ", "); got != c.want {
			t.Errorf("%s %s: series %q, want %q", c.kind, c.reason, got, c.want)
		}
	}
	m.Set(key, v1alpha1.DefinitionStatus{Conditions: []metav1.Condition{{Type: "Stalled", Status: "True", Reason: "Held"}}}, Parents{})
	m.Set(key, status, Parents{})
	if n := testutil.CollectAndCount(m.parents) + testutil.CollectAndCount(m.inputs); n != 0 {
		t.Errorf("%d series of parents of a definition that does not run", n)
	}
	if m.Forget(key); testutil.CollectAndCount(m.conditions)+testutil.CollectAndCount(m.pending) != 0 {
		t.Error("a definition that is gone has series")
	}
}

// seriesOf returns the state and the reason of each series of a metric.
func seriesOf(t *testing.T, registry *prometheus.Registry, name string) (all []string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, label := range metric.Label {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && metric.Gauge.GetValue() == 1 {
				all = append(all, labels["state"]+" "+labels["reason"])
			}
		}
	}
	return all
}
