package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/engines"
)

// eventSource is the source of events, by which users filter them (section 0 of the specification).
const eventSource = "metacontroller"

// newRecorder returns a recorder that aggregates equal events and limits the events of each object. stop
// shuts it down.
func newRecorder(client kubernetes.Interface, o *options) (recorder record.EventRecorder, stop func()) {
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: o.eventsQPS, BurstSize: o.eventsBurst})
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return boundedRecorder{broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventSource})}, broadcaster.Shutdown
}

// maxEventBytes bounds the message of an event. Hooks and values of objects make a part of it.
const maxEventBytes = 2 << 10

// boundedRecorder cuts messages that are too long.
type boundedRecorder struct{ record.EventRecorder }

// Event emits an event.
func (r boundedRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.EventRecorder.Event(object, kind, reason, engines.Truncate(message, maxEventBytes))
}

// Eventf formats and emits an event.
func (r boundedRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf formats and emits an event with annotations.
func (r boundedRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", engines.Truncate(fmt.Sprintf(format, args...), maxEventBytes))
}
