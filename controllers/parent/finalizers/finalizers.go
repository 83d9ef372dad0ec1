// Package finalizers removes finalizers from objects, and knows which parents wait long for their finalize hook.
package finalizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Finalizers finds and removes finalizers. It reads from the API server, as caches may not show
// the last writes.
type Finalizers struct {
	Client metadata.Interface
	// Namespaces are where objects are looked for. Without any it is everywhere.
	Namespaces []string
	// Parallel limits concurrent writes. Values below one mean one.
	Parallel int
	// Pause is called before each page of a list, unless it is nil.
	Pause func(context.Context) error
}

const (
	// pageSize is the number of objects in a page of a list.
	pageSize = 500
	// maxListings limits how often finalizers may reappear after a complete removal.
	maxListings = 5
	// maxConflicts limits the retries of one object.
	maxConflicts = 10
)

// Names returns all finalizers on objects of a resource.
func (f Finalizers) Names(ctx context.Context, resource schema.GroupVersionResource) (map[string]bool, error) {
	names := map[string]bool{}
	for range maxListings {
		whole, err := f.pages(ctx, resource, func(items []metav1.PartialObjectMetadata) error {
			for i := range items {
				for _, name := range items[i].Finalizers {
					names[name] = true
				}
			}
			return nil
		})
		if err != nil || whole {
			return names, err
		}
	}
	return names, fmt.Errorf("%s: there are too many objects to be listed before the listing expires", resource.GroupResource())
}

// Remove removes the finalizers for which remove returns true from all objects of a resource,
// until a complete list shows none. It returns the number of objects that had any.
func (f Finalizers) Remove(ctx context.Context, resource schema.GroupVersionResource, remove func(finalizer string) bool) (int, error) {
	taken := 0
	for listed := 0; listed < maxListings; {
		found := 0
		whole, err := f.pages(ctx, resource, func(items []metav1.PartialObjectMetadata) error {
			items = slices.DeleteFunc(items, func(item metav1.PartialObjectMetadata) bool {
				return !slices.ContainsFunc(item.Finalizers, remove)
			})
			found += len(items)
			done, err := f.removeFromPage(ctx, resource, items, remove)
			taken += done
			return err
		})
		if err != nil || whole && found == 0 {
			return taken, err
		}
		if whole || found == 0 { // A listing that expires while it takes finalizers off gets on.
			listed++
		}
	}
	return taken, fmt.Errorf("%s: finalizers come back as fast as they are taken off: does another host run for the same definition?",
		resource.GroupResource())
}

// pages calls each for every page of a list, also after an error, and returns all errors. whole
// is false if the list expired before its end.
func (f Finalizers) pages(
	ctx context.Context, resource schema.GroupVersionResource, each func([]metav1.PartialObjectMetadata) error,
) (whole bool, err error) {
	whole = true
	var errs []error
	for _, namespace := range f.InNamespaces() {
		listed, err := f.pagesOf(ctx, resource, namespace, each)
		whole, errs = whole && listed, append(errs, err)
	}
	return whole, errors.Join(errs...)
}

// InNamespaces returns the namespaces to look in, of which an empty one stands for everywhere.
func (f Finalizers) InNamespaces() []string {
	if len(f.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return f.Namespaces
}

// pagesOf is pages in one namespace.
func (f Finalizers) pagesOf(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, each func([]metav1.PartialObjectMetadata) error,
) (whole bool, err error) {
	var errs []error
	options := metav1.ListOptions{Limit: pageSize}
	for {
		if f.Pause != nil {
			if err := f.Pause(ctx); err != nil {
				return false, err
			}
		}
		reader := identity.WithAccount(ctx, identity.Account{}) // As the caches are filled.
		if namespace != "" && resource.GroupResource() == corev1.Resource("secrets") {
			reader = ctx
		}
		page, err := f.Client.Resource(resource).Namespace(namespace).List(reader, options)
		switch {
		case apierrors.IsNotFound(err): // A resource that is no longer served has no objects.
			return true, errors.Join(errs...)
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			return false, errors.Join(errs...)
		case err != nil:
			return false, errors.Join(append(errs, fmt.Errorf("%s: %w", resource.GroupResource(), err))...)
		}
		errs = append(errs, each(page.Items))
		if options.Continue = page.Continue; options.Continue == "" {
			return true, errors.Join(errs...)
		}
	}
}

// removeFromPage removes finalizers from the objects of one page concurrently. It returns how
// many objects it has changed.
func (f Finalizers) removeFromPage(
	ctx context.Context, resource schema.GroupVersionResource, items []metav1.PartialObjectMetadata, remove func(string) bool,
) (int, error) {
	var group errgroup.Group
	group.SetLimit(max(f.Parallel, 1))
	errs := make([]error, len(items))
	var done atomic.Int64
	for i := range items {
		group.Go(func() error {
			if err := f.removeFrom(ctx, resource, &items[i], remove); err != nil {
				errs[i] = fmt.Errorf("%s %s: %w", resource.GroupResource(), cache.NewObjectName(items[i].Namespace, items[i].Name), err)
				return nil
			}
			done.Add(1)
			return nil
		})
	}
	_ = group.Wait() // Each error is in errs.
	return int(done.Load()), failure.Join(errs)
}

// removeFrom removes finalizers from one object. It retries conflicts.
func (f Finalizers) removeFrom(
	ctx context.Context, resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata, remove func(string) bool,
) error {
	endpoint := f.Client.Resource(resource).Namespace(object.Namespace)
	var err error
	for range maxConflicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		patch, marshalErr := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": object.UID, "resourceVersion": object.ResourceVersion,
			"finalizers": slices.DeleteFunc(slices.Clone(object.Finalizers), remove),
		}})
		if marshalErr != nil {
			return marshalErr
		}
		_, err = endpoint.Patch(context.WithoutCancel(ctx), object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsConflict(err) {
			break
		}
		object, err = endpoint.Get(ctx, object.Name, metav1.GetOptions{})
		if err != nil || !slices.ContainsFunc(object.Finalizers, remove) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
