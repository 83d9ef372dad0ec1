package status

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

// Metrics are the gauges of definitions: what their statuses say, also where none can be written. A nil *Metrics records nothing.
type Metrics struct {
	parents, inputs, conditions, rollout, pending *prometheus.GaugeVec
	// pendingEdits are the pendingEdit of definitions, by key.
	pendingEdits sync.Map
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: definitionmetrics.Prefix + name, Help: help},
			definitionmetrics.Labels(labels...))
	}
	m := &Metrics{
		parents: gauge("parents", "Parents, by state: synced, failing, waiting, or pending before the first sync.", "state"),
		inputs:  gauge("inputs", "Inputs of maps, by state: synced, failing or waiting.", "state"),
		conditions: gauge("condition",
			"Conditions of definitions, by type: 1 if it is True, 0 if it is False, and -1 if it is Unknown.", "type"),
		rollout: gauge("script_rollout_parents",
			"Parents while an edit of scripts is rolled out, by revision: stable, or updated if they have been synced by the edit.", "revision"),
	}
	m.pending = gauge("pending_edit",
		"1 while an edit does not serve all parents, by the condition Stalled or Reconciling and its reason, or Pinned while a pin says what serves.",
		"state", "reason")
	registry.MustRegister(m.parents, m.inputs, m.conditions, m.rollout, m.pending)
	return m
}

// conditionTypes are the conditions that every definition has.
var conditionTypes = []string{
	v1alpha1.ConditionAccepted, v1alpha1.ConditionScriptsReady, v1alpha1.ConditionReady, v1alpha1.ConditionParentsSynced,
}

// Set records what the status of a definition says.
func (m *Metrics) Set(key controller.Key, status v1alpha1.DefinitionStatus, parents Parents) {
	if m == nil {
		return
	}
	m.setParents(key, parents)
	m.setRollout(key, status)
	m.setPending(key, pendingEditOf(status))
	kinds := conditionTypes
	for _, kind := range []string{v1alpha1.ConditionProgressing, v1alpha1.ConditionAuthorized} { // These are not always there.
		if meta.FindStatusCondition(status.Conditions, kind) != nil {
			kinds = append(slices.Clone(kinds), kind)
		}
	}
	for _, kind := range kinds {
		m.conditions.WithLabelValues(definitionmetrics.Values(key.String(), kind)...).Set(conditionValue(status.Conditions, kind))
	}
}

// conditionValue returns the value of a condition's metric. One that is missing is unknown.
func conditionValue(conditions []metav1.Condition, kind string) float64 {
	switch {
	case meta.IsStatusConditionTrue(conditions, kind):
		return 1
	case meta.IsStatusConditionFalse(conditions, kind):
		return 0
	default:
		return -1
	}
}

func (m *Metrics) setParents(key controller.Key, parents Parents) {
	s := parents.Summary
	switch {
	case s == nil && parents.Keep: // They are being listed, maybe for an edit: what is known stays.
		return
	case s == nil:
		m.parents.DeletePartialMatch(definitionmetrics.Selector(key.String()))
		m.inputs.DeletePartialMatch(definitionmetrics.Selector(key.String()))
		return
	}
	set := func(gauge *prometheus.GaugeVec, state parent.State, count int32) {
		gauge.WithLabelValues(definitionmetrics.Values(key.String(), string(state))...).Set(float64(count))
	}
	set(m.parents, parent.Synced, s.Synced)
	set(m.parents, parent.Failing, s.Failing)
	set(m.parents, parent.Waiting, s.Waiting)
	set(m.parents, parent.Pending, s.Pending)
	if parents.IsMap {
		set(m.inputs, parent.Synced, s.SyncedInputs)
		set(m.inputs, parent.Failing, s.FailingInputs)
		set(m.inputs, parent.Waiting, s.WaitingInputs)
	}
}

// setRollout records how many parents have an edit that is rolled out. Otherwise there are no such series.
func (m *Metrics) setRollout(key controller.Key, status v1alpha1.DefinitionStatus) {
	rollout := status.ScriptRollout
	if rollout == nil || rollout.UpdatedParents == nil || status.Parents == nil {
		m.rollout.DeletePartialMatch(definitionmetrics.Selector(key.String()))
		return
	}
	updated := *rollout.UpdatedParents
	m.rollout.WithLabelValues(definitionmetrics.Values(key.String(), "updated")...).Set(float64(updated))
	m.rollout.WithLabelValues(definitionmetrics.Values(key.String(), "stable")...).Set(float64(max(0, *status.Parents-updated)))
}

// pendingEdit is why an edit does not serve: the labels of a series. It is zero if there is no such edit.
type pendingEdit struct{ state, reason string }

// setPending records why an edit does not serve. Only then there is such a series.
func (m *Metrics) setPending(key controller.Key, now pendingEdit) {
	before, _ := m.pendingEdits.Swap(key, now)
	if before == now {
		return
	}
	if now != (pendingEdit{}) {
		m.pending.WithLabelValues(definitionmetrics.Values(key.String(), now.state, now.reason)...).Set(1)
	}
	if was, known := before.(pendingEdit); known && was != (pendingEdit{}) {
		m.pending.DeleteLabelValues(definitionmetrics.Values(key.String(), was.state, was.reason)...)
	}
}

// pendingEditOf returns why the newest edit does not serve all parents, as a status says.
func pendingEditOf(status v1alpha1.DefinitionStatus) pendingEdit {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			return pendingEdit{kind, c.Reason}
		}
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProgressing); c != nil && c.Reason == rollout.ReasonPinned {
		return pendingEdit{rollout.ReasonPinned, rollout.ReasonPinned}
	}
	return pendingEdit{}
}

// Forget drops the series of a definition that is gone.
func (m *Metrics) Forget(key controller.Key) {
	if m == nil {
		return
	}
	m.pendingEdits.Delete(key)
	for _, gauge := range []*prometheus.GaugeVec{m.parents, m.inputs, m.conditions, m.rollout, m.pending} {
		gauge.DeletePartialMatch(definitionmetrics.Selector(key.String()))
	}
}
