package tracing

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"
)

// Requests returns a transport for requests to the API server, each of which has a span if it is part of traced work.
func Requests(next http.RoundTripper) http.RoundTripper { return requests{next} }

type requests struct{ next http.RoundTripper }

// RoundTrip sends a request. Its span has neither the query nor any content.
func (t requests) RoundTrip(request *http.Request) (*http.Response, error) {
	if rootOf(request.Context()) == nil {
		return t.next.RoundTrip(request)
	}
	of := targetOf(request.URL.Path)
	ctx, span := Start(request.Context(), of.spanName(request.Method), trace.SpanKindClient)
	defer span.End()
	if !span.IsRecording() {
		return t.next.RoundTrip(request)
	}
	attributes := []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(request.Method), semconv.ServerAddress(request.URL.Hostname())}
	for _, named := range []attribute.KeyValue{
		Resource.String(of.resource), ObjectName.String(of.name), semconv.K8SNamespaceName(of.namespace),
	} {
		if named.Value.AsString() != "" {
			attributes = append(attributes, named)
		}
	}
	span.SetAttributes(attributes...)
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	EndHTTP(span, response, err)
	return response, err
}

// EndHTTP sets what is known of a response, or of its lack.
func EndHTTP(span trace.Span, response *http.Response, err error) {
	switch {
	case !span.IsRecording():
	case err != nil:
		Fail(span, fmt.Sprintf("%T", err))
	default:
		span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
		if response.StatusCode >= http.StatusBadRequest {
			Fail(span, strconv.Itoa(response.StatusCode))
		}
	}
}

// target is what a request is about. Its resource has the group and the subresource, as in RBAC: deployments.apps/status.
type target struct{ resource, namespace, name string }

// targetOf returns what a path of the API server names. It is empty for discovery and the like.
func targetOf(path string) target {
	var t target
	var group string
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = "."+parts[1], parts[3:]
	default:
		return t
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource = parts[0] + group
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.resource += "/" + parts[2]
	}
	return t
}

// spanName returns the verb of a request and its resource, as in RBAC, or its method if it is about none. No traced work watches.
func (t target) spanName(method string) string {
	switch {
	case t.resource == "":
		return method
	case method == http.MethodPost:
		return "create " + t.resource
	case method == http.MethodPut:
		return "update " + t.resource
	case method == http.MethodGet && t.name == "":
		return "list " + t.resource
	default:
		return strings.ToLower(method) + " " + t.resource
	}
}
