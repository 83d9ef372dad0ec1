package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// eventSource is the source of events, by which users filter them (section 0 of the specification).
const eventSource = "metacontroller"

// newRecorder returns a recorder that aggregates equal events and limits the events of each object. stop
// shuts it down.
func newRecorder(client kubernetes.Interface, o *options) (recorder record.EventRecorder, stop func()) {
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{QPS: o.eventsQPS, BurstSize: o.eventsBurst})
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventSource}), broadcaster.Shutdown
}
