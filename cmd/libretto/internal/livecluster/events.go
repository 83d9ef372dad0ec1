package livecluster

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// maxEvents is how many events are returned.
const maxEvents = 5

// Events returns the latest events about an object, the last one first.
func (r *Reader) Events(ctx context.Context, object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	resource := discovery.Resource{
		GroupVersionResource: corev1.SchemeGroupVersion.WithResource("events"), Kind: corev1.SchemeGroupVersion.WithKind("Event"),
		Namespaced: true,
	}
	namespace := cmp.Or(object.GetNamespace(), corev1.NamespaceDefault)
	var all []*unstructured.Unstructured
	about := listing{resource: resource, namespace: namespace, fields: "involvedObject.uid=" + string(object.GetUID())}
	err := r.list(ctx, about, func(o *unstructured.Unstructured) bool {
		all = append(all, o)
		return true
	})
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return cmp.Compare(LastSeen(b), LastSeen(a)) })
	return all[:min(len(all), maxEvents)], err
}

// LastSeen returns when an event was last emitted, as text.
func LastSeen(event *unstructured.Unstructured) string {
	for _, field := range []string{"lastTimestamp", "eventTime"} {
		if at, _ := event.Object[field].(string); at != "" {
			return at
		}
	}
	return ""
}
