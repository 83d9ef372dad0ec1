package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are the numbers that a program exposes, by name.
type Metrics map[string]*dto.MetricFamily

// ParseMetrics reads Prometheus' text format, of the API server or of any other program.
func ParseMetrics(text io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return families, nil
}

// Series returns how many series there are whose labels include the given ones, by the name of the metric.
func (m Metrics) Series(labels map[string]string) map[string]int {
	series := map[string]int{}
	for name, family := range m {
		for _, metric := range family.GetMetric() {
			if !includes(metric.GetLabel(), labels) {
				continue
			}
			const sumAndCount = 2
			switch {
			case metric.GetHistogram() != nil:
				series[name] += len(metric.GetHistogram().GetBucket()) + sumAndCount
			case metric.GetSummary() != nil:
				series[name] += len(metric.GetSummary().GetQuantile()) + sumAndCount
			default:
				series[name]++
			}
		}
	}
	return series
}

// Sum adds up the samples of a counter or gauge whose labels include the given ones. Of a histogram it counts the
// observations.
func (m Metrics) Sum(name string, labels map[string]string) float64 {
	sum := 0.0
	for _, metric := range m[name].GetMetric() {
		if includes(metric.GetLabel(), labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue() +
				float64(metric.GetHistogram().GetSampleCount()+metric.GetSummary().GetSampleCount())
		}
	}
	return sum
}

func includes(pairs []*dto.LabelPair, labels map[string]string) bool {
	found := 0
	for _, pair := range pairs {
		if value, ok := labels[pair.GetName()]; ok && value == pair.GetValue() {
			found++
		}
	}
	return found == len(labels)
}

// Metrics reads the API server's metrics.
func (c *Cluster) Metrics(ctx context.Context) (Metrics, error) {
	text, err := c.rest.RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("api server's metrics: %w", err)
	}
	return ParseMetrics(bytes.NewReader(text))
}

// Watches counts the watches on a resource that the API server has open for all clients. The garbage collector
// holds one on every resource, from a second after it came to be; OpenWatches counts those of one program.
func (c *Cluster) Watches(ctx context.Context, group, resource string) (int, error) {
	metrics, err := c.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	sum := metrics.Sum("apiserver_longrunning_requests", map[string]string{
		"verb": "WATCH", "group": group, "resource": resource,
	})
	return int(sum), nil
}
