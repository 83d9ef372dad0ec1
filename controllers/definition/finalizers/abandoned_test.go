package finalizers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// objects is a fake API server with names and finalizers, by resource.
type objects struct {
	metadata.Getter
	resource string
	stored   map[string][]metav1.PartialObjectMetadata
	errs     map[string]error
}

func (o objects) Resource(resource schema.GroupVersionResource) metadata.Getter {
	o.resource = resource.Resource
	return o
}

func (o objects) Namespace(string) metadata.ResourceInterface { return o }

func (o objects) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := o.errs[o.resource]; err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadataList{Items: slices.Clone(o.stored[o.resource])}, nil
}

// Patch removes all finalizers, as the objects of these tests have one at most.
func (o objects) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	for i := range o.stored[o.resource] {
		if object := &o.stored[o.resource][i]; object.Name == name {
			object.Finalizers = nil
		}
	}
	return nil, nil
}

func named(name string, finalizers ...string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
}

// TestAbandonedFinalizers checks which finalizers are removed, and that they stay in doubt.
func TestAbandonedFinalizers(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	gone, here := v1alpha1.FinalizerOf(v1alpha1.CompositeControllerKind, "gone"), v1alpha1.FinalizerOf(v1alpha1.CompositeControllerKind, "here")
	long := v1alpha1.FinalizerOf(v1alpha1.DecoratorControllerKind, strings.Repeat("long", 20))
	goneMap := v1alpha1.FinalizerOf(v1alpha1.MapControllerKind, "here") // The composite of that name is another.
	cases := map[string]struct {
		reason    string
		errs      map[string]error
		unserved  string
		off       []string
		left      []string
		forbidden []string
	}{
		"All":        {reason: "definitions that exist keep theirs", off: []string{"gone", "map"}},
		"Unserved":   {reason: "a kind that is not served has unknown definitions", unserved: "compositecontrollers", left: []string{"things"}},
		"Vanished":   {reason: "so has one that can't be found", errs: map[string]error{"compositecontrollers": apierrors.NewNotFound(schema.GroupResource{}, "")}, left: []string{"things"}},
		"Unreadable": {reason: "and one that can't be listed", errs: map[string]error{"mapcontrollers": errors.New("boom")}, left: []string{"things"}},
		"Forbidden":  {reason: "a forbidden resource is reported and not tried again", errs: map[string]error{"things": refused}, forbidden: []string{"things.example.com"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := []metav1.PartialObjectMetadata{named("gone", gone), named("here", here), named("long", long), named("map", goneMap), named("theirs", "example.com/theirs"), named("none")}
			o := objects{errs: tc.errs, stored: map[string][]metav1.PartialObjectMetadata{
				"things": slices.Clone(all), "compositecontrollers": {named("here")}, "decoratorcontrollers": {named(strings.Repeat("long", 20))},
			}}
			a := &search{
				log: logr.Discard(), defined: map[string]bool{},
				finalizers: parent.Finalizers{Client: o, Pause: func(context.Context) error { return nil }},
				find: func(apiVersion, resource string) (discovery.Resource, error) {
					if resource == tc.unserved {
						return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
					}
					if apiVersion != v1alpha1.GroupVersion.String() {
						return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
					}
					return discovery.Resource{GroupVersionResource: v1alpha1.GroupVersion.WithResource(resource)}, nil
				},
			}
			left, forbidden := a.search(t.Context(), []schema.GroupVersionResource{{Group: "example.com", Version: "v1", Resource: "things"}})
			var leftNames, off []string
			for _, resource := range left {
				leftNames = append(leftNames, resource.Resource)
			}
			for i, object := range o.stored["things"] {
				if len(object.Finalizers) != len(all[i].Finalizers) {
					off = append(off, object.Name)
				}
			}
			if diff := cmp.Diff([][]string{tc.off, tc.left, tc.forbidden}, [][]string{off, leftNames, forbidden}); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
