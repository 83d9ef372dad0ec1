// Package single keeps single Secrets and ConfigMaps under watch, each by its
// name, for as long as somebody needs it. Nobody needs the right to see others,
// nor the memory to hold them.
package single

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
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

// Kind is a kind of object that can be watched.
type Kind string

// The kinds.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

// Name names one object. It may serve as the key of a map.
type Name struct {
	Kind            Kind
	Namespace, Name string
}

// String gives "Secret namespace/name".
func (n Name) String() string { return string(n.Kind) + " " + n.Namespace + "/" + n.Name }

// Watches are the objects of a process that are under watch, each once however
// many need it. It is used by many goroutines at once.
type Watches struct {
	client kubernetes.Interface
	log    logr.Logger

	mu     sync.Mutex
	byName map[Name]*object
}

// New watches through client.
func New(client kubernetes.Interface, log logr.Logger) *Watches {
	return &Watches{client: client, log: log, byName: map[Name]*object{}}
}

// Watch is one user's share of a watch.
type Watch struct {
	of      *Watches
	object  *object
	changed func()
	closing sync.Once
}

// Open watches an object, which need not exist, until the watch is closed. After
// every change of what Read gives it calls changed, which must not block and may
// still be called once while Close returns.
func (w *Watches) Open(name Name, changed func()) *Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.byName[name]
	if o == nil {
		o = w.start(name)
		w.byName[name] = o
	}
	one := &Watch{of: w, object: o, changed: changed}
	o.join(one)
	return one
}

// Read gives what is known at this moment.
func (w *Watch) Read() Reading { return w.object.read() }

// Close leaves the watch, and ends it if nobody else has it.
func (w *Watch) Close() {
	w.closing.Do(func() {
		w.of.mu.Lock()
		defer w.of.mu.Unlock()
		if w.object.leave(w) == 0 {
			w.object.stop()
			delete(w.of.byName, w.object.name)
		}
	})
}

func (w *Watches) start(name Name) *object {
	ctx, cancel := context.WithCancel(context.Background())
	o := &object{name: name, stop: cancel, users: map[*Watch]struct{}{}}
	lists, expected := w.listWatch(o)
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lists, w.client), expected, o, cache.ReflectorOptions{
		Logger: &w.log, Name: name.String(),
	})
	go w.keep(ctx, reflector)
	return o
}

// keep lists and watches for as long as ctx lasts. What ends an attempt is the
// server's or the network's to mend; refusals have been told by then.
func (w *Watches) keep(ctx context.Context, reflector *cache.Reflector) {
	pause := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	_ = pause.DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			w.log.V(1).Info("watch ended", "object", reflector.Name(), "reason", err.Error())
		}
		return false, nil
	})
}

// listWatch asks for the one object, and tells o of refusals. Only an accepted
// watch ends a refusal, because every attempt ends with one: an account that may
// list but not watch is refused without a pause.
func (w *Watches) listWatch(o *object) (*cache.ListWatch, runtime.Object) {
	if o.name.Kind == Secret {
		api := w.client.CoreV1().Secrets(o.name.Namespace)
		return only(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		}, api.Watch), &corev1.Secret{}
	}
	api := w.client.CoreV1().ConfigMaps(o.name.Namespace)
	return only(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return api.List(ctx, options)
	}, api.Watch), &corev1.ConfigMap{}
}

func only(o *object, list cache.ListWithContextFunc, follow cache.WatchFuncWithContext) *cache.ListWatch {
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, o.name.Name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = byName
			found, err := list(ctx, options)
			if err != nil {
				o.attempted(err)
			}
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = byName
			stream, err := follow(ctx, options)
			o.attempted(err)
			return stream, err
		},
	}
}
