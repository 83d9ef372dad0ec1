package memcluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Client returns a client of the cluster. It calls record for every write, failed ones included, one at a
// time. record may be nil.
func (c *Cluster) Client(record func(Write)) dynamic.Interface {
	return &client{cluster: c, record: record}
}

// Reader returns a client for caches: what it gets, lists and watches are the cluster's own objects, which are read-only.
func (c *Cluster) Reader() dynamic.Interface { return &client{cluster: c, shares: true} }

// Endpoint returns a client's endpoint for the resource and the namespace of an object.
func (c *Cluster) Endpoint(client dynamic.Interface, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	resource, err := c.ResourceOf(object.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.GetName(), err)
	}
	if !resource.Namespaced {
		return client.Resource(resource.GroupVersionResource), nil
	}
	return client.Resource(resource.GroupVersionResource).Namespace(object.GetNamespace()), nil
}

type client struct {
	cluster *Cluster
	record  func(Write)
	// shares is set if objects are returned without copying them.
	shares bool
}

// out returns a stored object as the client returns it.
func (c *client) out(object *unstructured.Unstructured) *unstructured.Unstructured {
	if c.shares {
		return object
	}
	return object.DeepCopy()
}

// Resource returns the endpoint of a resource.
func (c *client) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &endpoint{client: c, resource: resource}
}

// IsWatchListSemanticsUnSupported makes informers list before they watch.
func (c *client) IsWatchListSemanticsUnSupported() bool { return true }

// endpoint is a resource in one namespace. With an empty namespace it is cluster-scoped or in all
// namespaces.
type endpoint struct {
	*client
	resource  schema.GroupVersionResource
	namespace string
}

func (e *endpoint) Namespace(namespace string) dynamic.ResourceInterface {
	return &endpoint{client: e.client, resource: e.resource, namespace: namespace}
}

func (e *endpoint) Create(
	_ context.Context, object *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	r := request{verb: Create, name: object.GetName(), sent: object.DeepCopy(), manager: options.FieldManager, dryRun: len(options.DryRun) > 0}
	return e.write(r, subresources, func(t *table, r *request) error { return e.cluster.create(t, r) })
}

func (e *endpoint) Update(
	_ context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	r := request{
		verb: Update, name: object.GetName(), sent: object.DeepCopy(), manager: options.FieldManager, dryRun: len(options.DryRun) > 0,
	}
	return e.write(r, subresources, func(t *table, r *request) error { return e.cluster.update(t, r, r.sent) })
}

func (e *endpoint) UpdateStatus(
	ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions,
) (*unstructured.Unstructured, error) {
	return e.Update(ctx, object, options, statusSubresource)
}

func (e *endpoint) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	r := request{
		verb: Patch, name: name, patchType: kind, patch: data,
		manager: options.FieldManager, force: options.Force != nil && *options.Force, dryRun: len(options.DryRun) > 0,
	}
	return e.write(r, subresources, func(t *table, r *request) error { return e.cluster.patch(t, r) })
}

func (e *endpoint) Delete(_ context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	r := request{verb: Delete, name: name, options: options, dryRun: len(options.DryRun) > 0}
	_, err := e.write(r, subresources, func(t *table, r *request) error { return e.cluster.remove(t, r) })
	return err
}

func (e *endpoint) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	found, err := e.List(ctx, list)
	if err != nil {
		return err
	}
	for i := range found.Items {
		err := e.Namespace(found.Items[i].GetNamespace()).Delete(ctx, found.Items[i].GetName(), options)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (e *endpoint) Apply(
	ctx context.Context, name string, object *unstructured.Unstructured, options metav1.ApplyOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return e.Patch(ctx, name, types.ApplyPatchType, body, options.ToPatchOptions(), subresources...)
}

func (e *endpoint) ApplyStatus(
	context.Context, string, *unstructured.Unstructured, metav1.ApplyOptions,
) (*unstructured.Unstructured, error) {
	return nil, e.unserved("server-side apply of a status")
}

func (e *endpoint) unserved(what string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s: a cluster in memory does not serve %s", e.resource.Resource, what))
}

// table returns the endpoint's table. The lock is held.
func (e *endpoint) table() (*table, error) {
	t := e.cluster.tables[e.resource]
	if t == nil {
		return nil, apierrors.NewNotFound(e.resource.GroupResource(), "")
	}
	return t, nil
}
