package env

import (
	"fmt"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Metrics returns libretto's metrics.
func (e *Env) Metrics() cluster.Metrics {
	e.T.Helper()
	metrics, err := e.Libretto().Metrics(e.T.Context())
	e.NoError(err)
	return metrics
}

// Metric returns the sum of libretto's samples of a metric that have the labels.
func (e *Env) Metric(name string, labels map[string]string) float64 {
	e.T.Helper()
	return e.Metrics().Sum(name, labels)
}

// WaitForMetric waits until a metric is at least want.
func (e *Env) WaitForMetric(want float64, name string, labels map[string]string) {
	e.T.Helper()
	e.Eventually(func() error {
		if got := e.Metric(name, labels); got < want {
			return fmt.Errorf("%s%v is %v, want at least %v", name, labels, got, want)
		}
		return nil
	})
}

// WaitForNoMetric waits until a metric has no samples with the labels that are more than 0.
func (e *Env) WaitForNoMetric(name string, labels map[string]string) {
	e.T.Helper()
	e.Eventually(func() error {
		if got := e.Metric(name, labels); got > 0 {
			return fmt.Errorf("%s%v is still %v", name, labels, got)
		}
		return nil
	})
}

// HookCalls returns the number of calls of a definition's hook.
func (e *Env) HookCalls(kind, name, hook string) float64 {
	e.T.Helper()
	return e.Metric("libretto_definition_hook_duration_seconds", map[string]string{"kind": kind, "definition": name, "hook": hook})
}

func reconcileLabels(kind, name, outcome string) map[string]string {
	return map[string]string{"kind": kind, "definition": name, "outcome": outcome}
}

// Reconciles returns the number of reconciles of a CompositeController's parents with an outcome.
func (e *Env) Reconciles(name, outcome string) float64 {
	e.T.Helper()
	return e.ReconcilesOf(Composite, name, outcome)
}

// ReconcilesOf returns the number of reconciles of a definition's parents with an outcome.
func (e *Env) ReconcilesOf(kind, name, outcome string) float64 {
	e.T.Helper()
	return e.Metric("libretto_definition_reconcile_total", reconcileLabels(kind, name, outcome))
}

// WaitForReconciles waits until a CompositeController has more successful reconciles than before.
func (e *Env) WaitForReconciles(name string, before, more float64) {
	e.T.Helper()
	e.WaitForReconcilesOf(Composite, name, before+more)
}

// WaitForReconcilesOf waits until a definition has so many successful reconciles.
func (e *Env) WaitForReconcilesOf(kind, name string, want float64) {
	e.T.Helper()
	e.WaitForMetric(want, "libretto_definition_reconcile_total", reconcileLabels(kind, name, "success"))
}
