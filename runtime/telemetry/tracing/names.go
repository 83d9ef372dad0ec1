package tracing

import "go.opentelemetry.io/otel/attribute"

// Names of spans. Those of hooks and of requests to the API server are followed by the hook, and by the resource.
const (
	Reconcile   = "reconcile"
	HookPrefix  = "hook "
	WebhookCall = "POST"
	Edit        = "edit scripts"
	Load        = "load scripts"
	Test        = "test scripts"
	Preview     = "preview scripts"
)

// Attributes for which OpenTelemetry has no name. Those of objects are named as its collector names them.
const (
	Definition  = attribute.Key("libretto.definition")
	Revision    = attribute.Key("libretto.revision")
	Hook        = attribute.Key("libretto.hook")
	Engine      = attribute.Key("libretto.engine")
	CachedCalls = attribute.Key("libretto.calls.cached")
	Outcome     = attribute.Key("libretto.outcome")
	Resource    = attribute.Key("libretto.resource")
	ObjectKind  = attribute.Key("k8s.object.kind")
	ObjectName  = attribute.Key("k8s.object.name")
	ObjectUID   = attribute.Key("k8s.object.uid")
)
