package scripts

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// watches holds the ConfigMaps that open trees name. Each is watched once, as
// a single object, for as long as some tree names it: nobody needs the right
// to see all ConfigMaps of a namespace.
type watches struct {
	client kubernetes.Interface
	log    logr.Logger

	mu     sync.Mutex
	byName map[types.NamespacedName]*watched
}

func newWatches(client kubernetes.Interface, log logr.Logger) *watches {
	return &watches{client: client, log: log, byName: map[types.NamespacedName]*watched{}}
}

// take joins the watches of those names, starting what is not there yet. From
// then on, wake is sent to after every change, but never waited for.
func (w *watches) take(names map[types.NamespacedName]struct{}, wake chan struct{}) map[types.NamespacedName]*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[types.NamespacedName]*watched{}
	for name := range names {
		if w.byName[name] == nil {
			w.byName[name] = w.start(name)
		}
		taken[name] = w.byName[name]
		taken[name].join(wake)
	}
	return taken
}

// drop leaves watches that were taken, and stops those that nobody else has.
func (w *watches) drop(taken map[types.NamespacedName]*watched, wake chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, m := range taken {
		if m.leave(wake) == 0 {
			m.stop()
			delete(w.byName, name)
		}
	}
}

func (w *watches) start(name types.NamespacedName) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	m := &watched{name: name, stop: cancel, wakes: map[chan struct{}]struct{}{}}
	source := cache.ToListWatcherWithWatchListSemantics(w.listWatch(m), w.client)
	reflector := cache.NewReflectorWithOptions(source, &corev1.ConfigMap{}, m, cache.ReflectorOptions{
		Logger: &w.log, Name: "script source " + name.String(),
	})
	go w.keep(ctx, reflector)
	return m
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
func (w *watches) listWatch(m *watched) *cache.ListWatch {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, m.name.Name).String()
	api := w.client.CoreV1().ConfigMaps(m.name.Namespace)
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
