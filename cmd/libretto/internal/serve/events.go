package serve

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/access"
)

const (
	// eventSource is the source of events, by which users filter them (section 0 of the specification).
	eventSource = "metacontroller"
	// hookEventSource is the source of those that hooks ask for: what they say is not what the host says.
	hookEventSource = "libretto-hook"
)

// syncEvents are the limits of client-go on the failures and recoveries of one object, which don't bind: parent.EventLimits bounds those of
// each definition, counts what it drops and has it emitted later, while client-go would lose it.
var syncEvents = parent.EventLimits{QPS: 100, Burst: 1000}

// recordEvents sets the recorders of env. Each has a queue, aggregates equal events and limits those of each object by itself. stop
// shuts them down.
func recordEvents(env *parent.Environment, client *cli.TypedClients, limits parent.EventLimits) (stop func()) {
	env.Events.Limits = limits
	var broadcasters []record.EventBroadcaster
	for _, recorder := range []*record.EventRecorder{
		&env.Events.Rare, &env.Events.Syncs, &env.Events.Children, &env.Events.Hooks, &env.Events.Rollouts,
	} {
		limits, source := env.Events.Limits, eventSource
		switch recorder {
		case &env.Events.Syncs:
			limits = syncEvents
		case &env.Events.Hooks:
			source = hookEventSource
		}
		broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: limits.QPS, BurstSize: limits.Burst})
		broadcaster.StartRecordingToSink(&access.EventSink{Events: client.CoreV1().Events(""), Log: env.Log.WithName("events")})
		*recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: source})
		broadcasters = append(broadcasters, broadcaster)
	}
	return func() {
		for _, broadcaster := range broadcasters {
			broadcaster.Shutdown()
		}
	}
}
