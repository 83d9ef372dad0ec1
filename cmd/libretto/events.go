package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// eventSource is what users filter events by (section 0 of the specification).
const eventSource = "metacontroller"

// newRecorder sends events, equal ones as one with a count, and bounds how many
// there are of one object. stop ends it.
func newRecorder(client kubernetes.Interface, o *options) (recorder record.EventRecorder, stop func()) {
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: o.eventsQPS, BurstSize: o.eventsBurst})
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventSource}), broadcaster.Shutdown
}
