// Package objectwatch watches single Secrets, ConfigMaps and custom resources by name, for as long as they have a
// user. So the process needs neither the right to read others nor the memory to cache them.
package objectwatch

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset"
)

// Kind is a kind of object that can be watched.
type Kind string

// Kinds of New.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

// Name identifies an object. It is comparable.
type Name struct {
	Kind            Kind
	Namespace, Name string
	// Account reads it.
	Account identity.Account
}

// String returns "Secret namespace/name".
func (n Name) String() string { return string(n.Kind) + " " + n.Namespace + "/" + n.Name }

// Snapshot is the observed state of an object. It is immutable.
type Snapshot struct {
	// Synced means that the API server has answered whether the object exists.
	Synced bool
	// Data holds the object's data by key. It is nil if the object does not exist.
	Data map[string]string
	// UID and ResourceVersion are empty if the object does not exist.
	UID             types.UID
	ResourceVersion string
	// Annotations are those of the object.
	Annotations map[string]string
	// Manager is the field manager that wrote the data last, as far as the object says, or empty.
	Manager string
	// ManagedFields are those of the object.
	ManagedFields []metav1.ManagedFieldsEntry
	// AccessErr is set while the API server denies the watch, or does not serve the resource. The other fields keep what was read
	// before.
	AccessErr error
}

// Set holds the watched objects, each once.
type Set = watchset.Set[Name, Snapshot]

// Watch is one user's handle on an object.
type Watch = watchset.Watch[Snapshot]

// Client has the client of Secrets and ConfigMaps, as a kubernetes.Interface has it.
type Client interface {
	CoreV1() corev1client.CoreV1Interface
}

// New returns an empty Set that watches Secrets and ConfigMaps through client.
func New(client Client, log logr.Logger) *Set {
	return newSet(client, log, func(_ Name, o *object) (*cache.ListWatch, runtime.Object) {
		o.dataOf = dataOf
		return listWatch(client, o)
	})
}

// Custom is a custom resource.
type Custom struct {
	Resource schema.GroupVersionResource
	// Data returns what Snapshot.Data has of an object. It is not nil.
	Data func(*unstructured.Unstructured) map[string]string
	// Missing is what to do if the API server does not serve the resource.
	Missing string
}

// NewCustom returns an empty Set that watches objects of those kinds through client.
func NewCustom(client dynamic.Interface, kinds map[Kind]Custom, log logr.Logger) *Set {
	return newSet(client, log, func(name Name, o *object) (*cache.ListWatch, runtime.Object) {
		kind := kinds[name.Kind]
		o.missing, o.dataOf = kind.Missing, func(obj metav1.Object) map[string]string {
			custom, _ := obj.(*unstructured.Unstructured)
			return kind.Data(custom)
		}
		api := client.Resource(kind.Resource).Namespace(name.Namespace)
		return selectByName(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		}, api.Watch), &unstructured.Unstructured{}
	})
}

func newSet(client any, log logr.Logger, requests func(Name, *object) (*cache.ListWatch, runtime.Object)) *Set {
	return watchset.New(func(ctx context.Context, name Name, entry *watchset.Entry[Snapshot]) {
		o, ctx := &object{name: name, Entry: entry}, identity.WithAccount(ctx, name.Account)
		lists, expected := requests(name, o)
		run(ctx, log, cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lists, client), expected, o, cache.ReflectorOptions{
			Logger: &log, Name: name.String(),
		}))
	})
}

// run lists and watches until ctx ends. Errors are transient or have been recorded as AccessErr.
func run(ctx context.Context, log logr.Logger, reflector *cache.Reflector) {
	pause := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	_ = pause.DelayWithReset(clock.RealClock{}, time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			log.V(1).Info("watch ended", "object", reflector.Name(), "reason", err.Error())
		}
		return false, nil
	})
}

// listWatch lists and watches the one object and records denied access. A successful list does not end a
// denial, because the watch that follows may be denied: an account that may list but not watch is denied
// all the time.
func listWatch(client Client, o *object) (*cache.ListWatch, runtime.Object) {
	if o.name.Kind == Secret {
		api := client.CoreV1().Secrets(o.name.Namespace)
		return selectByName(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		}, api.Watch), &corev1.Secret{}
	}
	api := client.CoreV1().ConfigMaps(o.name.Namespace)
	return selectByName(o, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return api.List(ctx, options)
	}, api.Watch), &corev1.ConfigMap{}
}

func selectByName(o *object, list cache.ListWithContextFunc, watchFunc cache.WatchFuncWithContext) *cache.ListWatch {
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, o.name.Name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = byName
			found, err := list(ctx, options)
			if err != nil {
				o.recordAccess("list", err)
			}
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = byName
			stream, err := watchFunc(ctx, options)
			o.recordAccess("watch", err)
			return stream, err
		},
	}
}
