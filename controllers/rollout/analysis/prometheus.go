package analysis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// maxAnswerBytes bounds the answer to a query, and maxShown how many of its values are shown.
const maxAnswerBytes, maxShown = 1 << 20, 3

// query asks a Prometheus server.
func (a *Analyst) query(ctx context.Context, p *v1alpha1.PrometheusAnalysis) outcome {
	condition, err := overResult.compile(p.SuccessCondition)
	if err != nil {
		return unknown("%v", err)
	}
	values, err := a.ask(ctx, p)
	if err != nil {
		return unknown("%s: %v", p.Address, err)
	}
	is, why, err := condition.evaluate(ctx, map[string]any{"result": values})
	switch {
	case err != nil:
		return unknown("%s: %v", condition, err)
	case !is:
		return failed("%s; the answer is %s", why, shown(values))
	}
	return passed()
}

func shown(values []float64) string {
	if len(values) > maxShown {
		return fmt.Sprintf("%v and %d values more", values[:maxShown], len(values)-maxShown)
	}
	return fmt.Sprint(values)
}

// ask returns the values that a query gives.
func (a *Analyst) ask(ctx context.Context, p *v1alpha1.PrometheusAnalysis) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	bounded := *a.HTTP
	bounded.Transport = boundedTransport{a.HTTP.Transport}
	client, err := api.NewClient(api.Config{Address: p.Address, Client: &bounded})
	if err != nil {
		return nil, errors.New("that is no URL")
	}
	answer, _, _, err := prometheus.NewAPI(client).Query(ctx, p.Query, a.Clock.Now(), prometheus.WithTimeout(queryTimeout))
	var request *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer within %s", queryTimeout)
	case errors.As(err, &request): // It repeats the address, perhaps with the query.
		return nil, request.Err
	case err != nil:
		return nil, err
	}
	return valuesOf(answer)
}

// valuesOf returns the values of an answer. What is no number says nothing.
func valuesOf(answer model.Value) ([]float64, error) {
	var values []float64
	switch answer := answer.(type) {
	case *model.Scalar:
		values = append(values, float64(answer.Value))
	case model.Vector:
		for _, sample := range answer {
			if sample.Histogram != nil {
				return nil, errors.New("the query gives a histogram: it must give numbers")
			}
			values = append(values, float64(sample.Value))
		}
	default:
		return nil, fmt.Errorf("the query gives a %s: it must give a scalar or an instant vector", answer.Type())
	}
	if len(values) == 0 {
		return nil, errors.New("the query gives no samples")
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return nil, errors.New("the query gives NaN, as 0/0 does")
	}
	return values, nil
}

// boundedTransport bounds the answers of a transport.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.RoundTripper
	if base == nil {
		base = http.DefaultTransport
	}
	response, err := base.RoundTrip(request)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxAnswerBytes}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswerBytes)
	}
	return n, err
}
