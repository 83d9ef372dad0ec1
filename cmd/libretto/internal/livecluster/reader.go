// Package livecluster reads from a cluster what a preview needs: with the rights of its caller, in few requests, and in bounded memory.
package livecluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// Reader reads a cluster. It must be used by one goroutine at a time.
type Reader struct {
	// Client is one for all groups, without a timeout.
	Client rest.Interface
	// Warn is called with what is missing, and what that means.
	Warn func(string)

	// managed keeps the managedFields of objects, for server-side apply.
	managed bool
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// request returns a request for a resource.
func (r *Reader) request(resource discovery.Resource, namespace string) *rest.Request {
	gvr := resource.GroupVersionResource
	path := []string{"apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"api", gvr.Version}
	}
	return r.Client.Get().AbsPath(path...).NamespaceIfScoped(namespace, resource.Namespaced && namespace != "").
		Resource(gvr.Resource).SetHeader("Accept", runtime.ContentTypeJSON)
}

// options are how objects are decoded: without managedFields, unless server-side apply needs them.
func (r *Reader) options() objectjson.Options {
	if !r.managed {
		return objectjson.Options{}
	}
	return objectjson.Options{KeepManagedFields: func(_, _, _ string) bool { return true }}
}

// Get returns an object, or nil if there is none.
func (r *Reader) Get(ctx context.Context, resource discovery.Resource, namespace, name string) (*unstructured.Unstructured, error) {
	text, err := r.request(resource, namespace).Name(name).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, explain(err, "get", resource, namespace)
	}
	return r.decode(text)
}

func (r *Reader) decode(text []byte) (*unstructured.Unstructured, error) {
	fields, err := objectjson.Decode(text, r.options())
	return &unstructured.Unstructured{Object: fields}, err
}

// listing selects what is listed.
type listing struct {
	resource            discovery.Resource
	namespace, selector string
	// fields is a field selector.
	fields string
	// isOptional is set for a resource that need not be installed.
	isOptional bool
}

// list calls each for all objects of a listing, page by page. It ends when each returns false. A resource that is not served has none.
func (r *Reader) list(ctx context.Context, l listing, each func(*unstructured.Unstructured) bool) error {
	for token := ""; ; {
		items, next, err := r.page(ctx, l, token)
		switch {
		case apierrors.IsNotFound(err) && l.isOptional:
			return nil
		case apierrors.IsNotFound(err):
			r.Warn(fmt.Sprintf("the cluster does not serve %s yet: it has none", l.resource.GroupResource()))
			return nil
		case apierrors.IsResourceExpired(err) && token != "":
			return fmt.Errorf("%s: the list took so long that the API server has forgotten it: ask again", l.resource.GroupResource())
		case err != nil:
			return explain(err, "list", l.resource, l.namespace)
		}
		for _, item := range items {
			if !each(&unstructured.Unstructured{Object: item}) {
				return nil
			}
		}
		if token = next; token == "" {
			return nil
		}
	}
}

// page returns one page of a list, and the token of the next.
func (r *Reader) page(ctx context.Context, l listing, token string) (items []map[string]any, next string, err error) {
	request := r.request(l.resource, l.namespace).Param("limit", strconv.Itoa(pageSize))
	if l.selector != "" {
		request.Param("labelSelector", l.selector)
	}
	if l.fields != "" {
		request.Param("fieldSelector", l.fields)
	}
	if token != "" {
		request.Param("continue", token)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, "", err
	}
	list, items, err := objectjson.NewDecoder(body, r.options()).List()
	if closed := body.Close(); err == nil {
		err = closed
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	meta, _ := list["metadata"].(map[string]any)
	next, _ = meta["continue"].(string)
	return items, next, err
}

// ForbiddenError is that the caller may not read a resource.
type ForbiddenError struct {
	Verb      string
	Resource  schema.GroupResource
	Namespace string
}

// Is reports whether the target is that nothing is known.
func (e *ForbiddenError) Is(target error) bool { return target == rollout.ErrUnknown }

// Error names the rule that is missing.
func (e *ForbiddenError) Error() string {
	where, kind := "in all namespaces", "ClusterRole"
	if e.Namespace != "" {
		where, kind = "in namespace "+e.Namespace, "Role"
	}
	return fmt.Sprintf("you may not %s %s %s: it takes a %s with the rule {apiGroups: [%q], resources: [%s], verbs: [%s]}",
		e.Verb, e.Resource, where, kind, e.Resource.Group, e.Resource.Resource, e.Verb)
}

// explain returns an error with what was asked for.
func explain(err error, verb string, resource discovery.Resource, namespace string) error {
	if apierrors.IsForbidden(err) {
		return &ForbiddenError{Verb: verb, Resource: resource.GroupResource(), Namespace: namespace}
	}
	return fmt.Errorf("%s %s: %w", verb, resource.GroupResource(), err)
}
