// Package definitionmetrics holds what the metrics of definitions have in common: the labels kind and definition, by which all of
// them can be joined, the beginning of their names, and the names of one release before.
package definitionmetrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Prefix begins the names of all metrics that have the labels of a definition, and of no others.
const Prefix = "libretto_definition_"

const (
	kindLabel       = "kind"
	definitionLabel = "definition"
	// ownLoop is the control loop of the definitions themselves.
	ownLoop = "definition"
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

// Register registers a collector of the metric Prefix + name, which has Labels(labels...). It registers it also as it was in the release
// before: with libretto_ in place of Prefix, and a label definition such as "CompositeController hello".
func Register(registry prometheus.Registerer, collector prometheus.Collector, name string, labels ...string) {
	registry.MustRegister(collector, former(collector, name, definitionLabel, " ", labels))
}

// RegisterLoops is Register for a metric of control loops, which had a label controller such as "CompositeController-hello", or
// "definition" for the control loop of the definitions themselves.
func RegisterLoops(registry prometheus.Registerer, collector prometheus.Collector, name string, labels ...string) {
	registry.MustRegister(collector, former(collector, name, "controller", "-", labels))
}

func former(collector prometheus.Collector, name, label, separator string, labels []string) *formerCollector {
	return &formerCollector{
		collector: collector, label: label, separator: separator,
		desc: prometheus.NewDesc("libretto_"+name,
			"Deprecated, and gone in the next release: use "+Prefix+name+", with the labels kind and definition.",
			append([]string{label}, labels...), nil),
	}
}

// formerCollector collects the metrics of another collector under their former name.
type formerCollector struct {
	collector        prometheus.Collector
	label, separator string
	desc             *prometheus.Desc
}

// Describe sends the description of the metric.
func (c *formerCollector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.desc }

// Collect sends the metrics.
func (c *formerCollector) Collect(metrics chan<- prometheus.Metric) {
	now := make(chan prometheus.Metric)
	go func() {
		defer close(now)
		c.collector.Collect(now)
	}()
	for metric := range now {
		metrics <- formerMetric{metric, c}
	}
}

// formerMetric is a metric under its former name.
type formerMetric struct {
	prometheus.Metric
	collector *formerCollector
}

// Desc returns the former description.
func (m formerMetric) Desc() *prometheus.Desc { return m.collector.desc }

// Write writes the metric with its former labels.
func (m formerMetric) Write(out *dto.Metric) error {
	if err := m.Metric.Write(out); err != nil {
		return err
	}
	var kind, name string
	labels := make([]*dto.LabelPair, 0, len(out.Label)) // The metric keeps the others.
	for _, pair := range out.Label {
		switch pair.GetName() {
		case kindLabel:
			kind = pair.GetValue()
		case definitionLabel:
			name = pair.GetValue()
		default:
			labels = append(labels, pair)
		}
	}
	label := m.collector.label
	switch {
	case kind != "":
		name = kind + m.collector.separator + name
	default:
		name = cmp.Or(name, ownLoop)
	}
	out.Label = append(labels, &dto.LabelPair{Name: &label, Value: &name})
	slices.SortFunc(out.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return nil
}
