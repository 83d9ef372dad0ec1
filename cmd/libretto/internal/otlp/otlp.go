// Package otlp exports the traces of the process to an OpenTelemetry collector, by OTLP over HTTP, if the standard environment variables
// say where it is.
package otlp

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// flushTimeout is how long the end of the process waits until the last spans are sent.
const flushTimeout = 5 * time.Second

// scope names what makes the spans.
const scope = "github.com/libretto-k8s/libretto"

// Tracer returns a tracer, and a function that sends what is left, or nil and a function that does nothing if the environment asks for no
// traces. Wrong variables are logged: they do not keep a host from its work. Those for sampling, batches and resources are the SDK's.
func Tracer(getenv func(string) string, version, userAgent string, log logr.Logger) (tracer trace.Tracer, flush func()) {
	env := environment(getenv)
	if !env.isOn() {
		return nil, func() {}
	}
	c, err := env.config()
	if err != nil {
		log.Error(err, "nothing is traced")
		return nil, func() {}
	}
	log.Info("syncs and edits of scripts are traced", "collector", c.endpoint.Host)
	return export(newClient(c, userAgent), version, log)
}

// export returns a tracer whose spans a client sends in batches, from a queue that is bounded: what has no room is dropped.
func export(to otlptrace.Client, version string, log logr.Logger) (tracer trace.Tracer, flush func()) {
	errs := &errorLog{log: log, lines: rate.NewLimiter(rate.Every(time.Minute), 3)}
	otel.SetLogger(log)
	otel.SetErrorHandler(errs)
	ctx := context.Background()
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(otlptrace.NewUnstarted(to)), sdktrace.WithResource(describe(ctx, version, errs)))
	return provider.Tracer(scope, trace.WithInstrumentationVersion(version)), func() {
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			errs.Handle(fmt.Errorf("sending the last spans: %w", err))
		}
	}
}

// describe returns what is told of the process. The variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES count most.
func describe(ctx context.Context, version string, errs *errorLog) *resource.Resource {
	described, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("libretto"), semconv.ServiceVersion(version)),
		resource.WithHost(), // In a pod it is the pod's name.
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		errs.Handle(err)
	}
	return described
}

// errorLog logs the errors of the SDK, at most a few at once and then one in a minute.
type errorLog struct {
	log   logr.Logger
	lines *rate.Limiter
}

// Handle logs an error, or drops it.
func (e *errorLog) Handle(err error) {
	if e.lines.Allow() {
		verbosity.Warn(e.log, "traces", "reason", err.Error())
	}
}
