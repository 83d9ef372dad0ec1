package definition

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
	m.set(key, status, parentStatus{summary: summary, isMap: true})
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
	m.set(key, status, parentStatus{})
	if n := testutil.CollectAndCount(m.parents) + testutil.CollectAndCount(m.inputs); n != 0 {
		t.Errorf("%d series of parents of a definition that does not run", n)
	}
	if m.forget(key); testutil.CollectAndCount(m.conditions) != 0 {
		t.Error("a definition that is gone has series")
	}
}
