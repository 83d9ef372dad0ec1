package scripts

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// configMapStore is to a reflector a store that has room for one ConfigMap.
type configMapStore struct{ *watched }

// watchConfigMap keeps m up to date with the one ConfigMap until ctx ends.
func (w *watches) watchConfigMap(ctx context.Context, m *watched) {
	source := cache.ToListWatcherWithWatchListSemantics(listWatch(w.client, m), w.client)
	reflector := cache.NewReflectorWithOptions(source, &corev1.ConfigMap{}, configMapStore{m}, cache.ReflectorOptions{
		Logger: &w.log, Name: "script source " + m.origin.ConfigMap.String(),
	})
	w.keep(ctx, reflector)
}

// keep lists and watches for as long as ctx lasts. What ends an attempt is the
// server's or the network's to mend; refusals have been told by then.
func (w *watches) keep(ctx context.Context, reflector *cache.Reflector) {
	pause := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	_ = pause.DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			w.log.V(1).Info("watch ended", "reflector", reflector.Name(), "reason", err.Error())
		}
		return false, nil
	})
}

// listWatch asks for the one object, and tells m of refusals. Only an accepted
// watch ends a refusal, because every attempt ends with one: an account that
// may list but not watch is refused without a pause.
func listWatch(client kubernetes.Interface, m *watched) *cache.ListWatch {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, m.origin.ConfigMap.Name).String()
	api := client.CoreV1().ConfigMaps(m.origin.ConfigMap.Namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			list, err := api.List(ctx, options)
			if err != nil {
				m.attempted(err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = only
			stream, err := api.Watch(ctx, options)
			m.attempted(err)
			return stream, err
		},
	}
}

// Add and the four below it are what a reflector asks of a store.
func (s configMapStore) Add(object any) error {
	if c := object.(*corev1.ConfigMap); s.named(c) {
		s.hold(c)
	}
	return nil
}

// Update is the same as Add.
func (s configMapStore) Update(object any) error { return s.Add(object) }

// Delete forgets the object.
func (s configMapStore) Delete(object any) error {
	if s.named(object.(*corev1.ConfigMap)) {
		s.hold(nil)
	}
	return nil
}

// Replace takes a list that has the object, or has not.
func (s configMapStore) Replace(objects []any, _ string) error {
	for _, object := range objects {
		if c := object.(*corev1.ConfigMap); s.named(c) {
			s.hold(c)
			return nil
		}
	}
	s.hold(nil)
	return nil
}

// Resync has nothing to do.
func (s configMapStore) Resync() error { return nil }

// named says whether it is the object that was asked for: not every stand-in for an
// API server heeds field selectors.
func (s configMapStore) named(c *corev1.ConfigMap) bool { return c.Name == s.origin.ConfigMap.Name }

func (s configMapStore) hold(c *corev1.ConfigMap) {
	s.change(func(r *reading) {
		*r = reading{answered: true, refusal: r.refusal}
		if c != nil {
			r.files, r.uid, r.version = contents(c), c.UID, c.ResourceVersion
		}
	})
}

// contents gives all that a ConfigMap holds, by key. The API server sees to it
// that data and binaryData have no key in common.
func contents(c *corev1.ConfigMap) map[string]string {
	files := make(map[string]string, len(c.Data)+len(c.BinaryData))
	maps.Copy(files, c.Data)
	for key, value := range c.BinaryData {
		files[key] = string(value)
	}
	return files
}
