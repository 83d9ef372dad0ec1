package main

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// errInUse is why a cluster is not used: at the end the demo would delete what was not its own, or libretto would take up
// definitions that another process hosts.
var errInUse = errors.New("the cluster is in use: choose another one, or unset KUBECONFIG")

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	composites  = v1alpha1.GroupVersion.WithResource("compositecontrollers")
	decorators  = v1alpha1.GroupVersion.WithResource("decoratorcontrollers")
	maps        = v1alpha1.GroupVersion.WithResource("mapcontrollers")
)

// refuseIfInUse looks for what the demo would create, and for definitions of somebody else's.
func (d *demo) refuseIfInUse(ctx context.Context) error {
	for _, own := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{
		{namespaces, demoNamespace}, {namespaces, scriptNamespace}, {definitions, catsets.Resource + "." + catsets.Group},
	} {
		found, err := d.exists(ctx, own.resource, own.name)
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%s %s is there already: %w", own.resource.Resource, own.name, errInUse)
		}
	}
	for _, resource := range []schema.GroupVersionResource{composites, decorators, maps} {
		list, err := d.cluster.Dynamic().Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: %w", resource.Resource, err)
		}
		if err == nil && len(list.Items) > 0 {
			return fmt.Errorf("there are %s already: %w", resource.Resource, errInUse)
		}
	}
	return nil
}

func (d *demo) exists(ctx context.Context, resource schema.GroupVersionResource, name string) (bool, error) {
	_, err := d.cluster.Dynamic().Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", resource.Resource, name, err)
	}
	return true, nil
}

// hasOurDefinitions holds on a cluster with libretto's CRDs, or metacontroller's: they are somebody's, and stay as they are.
func (d *demo) hasOurDefinitions(ctx context.Context) (bool, error) {
	return d.exists(ctx, definitions, composites.Resource+"."+composites.Group)
}
