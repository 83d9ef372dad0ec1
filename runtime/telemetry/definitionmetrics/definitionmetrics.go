// Package definitionmetrics holds what the metrics of definitions have in common: the labels kind and definition, by which all of
// them can be joined, and the beginning of their names.
package definitionmetrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Prefix begins the names of all metrics that have the labels of a definition, and of no others.
const Prefix = "libretto_definition_"

const (
	kindLabel       = "kind"
	definitionLabel = "definition"
)

// Labels returns the names of the labels of a metric: kind and definition, then more.
func Labels(more ...string) []string { return append([]string{kindLabel, definitionLabel}, more...) }

// Values returns the values of these labels, for a definition as it is named in logs, such as "CompositeController hello". Both are
// empty for what is about no definition.
func Values(definition string, more ...string) []string {
	kind, name, _ := strings.Cut(definition, " ")
	return append([]string{kind, name}, more...)
}

// LoopValues is Values for the name of a control loop, such as "CompositeController-hello".
func LoopValues(loop string, more ...string) []string {
	kind, name, found := strings.Cut(loop, "-")
	if !found {
		kind = "" // The control loop of the definitions.
	}
	return append([]string{kind, name}, more...)
}

// Selector returns the labels that all series of a definition have.
func Selector(definition string) prometheus.Labels {
	values := Values(definition)
	return prometheus.Labels{kindLabel: values[0], definitionLabel: values[1]}
}

// LoopSelector is Selector for the name of a control loop.
func LoopSelector(loop string) prometheus.Labels {
	values := LoopValues(loop)
	return prometheus.Labels{kindLabel: values[0], definitionLabel: values[1]}
}
