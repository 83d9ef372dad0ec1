// Package single keeps single Secrets and ConfigMaps under watch, each by its
// name, for as long as somebody needs it. Nobody needs the right to see others,
// nor the memory to hold them.
package single

import (
	"context"
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

	"github.com/libretto-k8s/libretto/runtime/shared"
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

// Reading is what is known of an object at one moment. It never changes once made.
type Reading struct {
	// Answered says that the API server has told whether the object exists.
	Answered bool
	// Data is what the object holds by key, and nil if there is no such object.
	Data map[string]string
	// UID and Version are the object's own, and empty if there is none.
	UID     types.UID
	Version string
	// Refusal is why the API server does not let us watch, or nil. What was read
	// before stays.
	Refusal error
}

// Watches are the objects that are under watch, each once however many need it.
type Watches = shared.Watches[Name, Reading]

// Watch is one user's share of a watch.
type Watch = shared.Watch[Reading]

// New watches through client.
func New(client kubernetes.Interface, log logr.Logger) *Watches {
	return shared.New(func(ctx context.Context, name Name, thing *shared.Thing[Reading]) {
		o := &object{name: name, Thing: thing}
		lists, expected := listWatch(client, o)
		keep(ctx, log, cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lists, client), expected, o, cache.ReflectorOptions{
			Logger: &log, Name: name.String(),
		}))
	})
}

// keep lists and watches for as long as ctx lasts. What ends an attempt is the
// server's or the network's to mend; refusals have been told by then.
func keep(ctx context.Context, log logr.Logger, reflector *cache.Reflector) {
	pause := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	_ = pause.DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			log.V(1).Info("watch ended", "object", reflector.Name(), "reason", err.Error())
		}
		return false, nil
	})
}

// listWatch asks for the one object, and tells o of refusals. Only an accepted
// watch ends a refusal, because every attempt ends with one: an account that may
// list but not watch is refused without a pause.
func listWatch(client kubernetes.Interface, o *object) (*cache.ListWatch, runtime.Object) {
	if o.name.Kind == Secret {
		api := client.CoreV1().Secrets(o.name.Namespace)
		return only(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		}, api.Watch), &corev1.Secret{}
	}
	api := client.CoreV1().ConfigMaps(o.name.Namespace)
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
