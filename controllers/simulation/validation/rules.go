package validation

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Rules returns those of a resource, or nil if it is not built in.
func Rules(resource discovery.Resource) memcluster.Rules {
	if resource.Custom || !scheme.Scheme.Recognizes(resource.Kind) {
		return nil
	}
	return builtIn{kind: resource.Kind, namespaced: resource.Namespaced}
}

// Refuses returns why an API server would surely refuse an object in the place of another, or of none if that is nil. It returns nil if it
// would not. It costs much less than Decode and Validate.
func (b builtIn) Refuses(object, old *unstructured.Unstructured) error {
	metadata, err := b.typedMetadata(object)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	errs := b.validate(metadata, object, old)
	if len(errs) > 0 && old != nil { // They may differ in nothing but how they are written.
		stored, before := object.DeepCopy(), old.DeepCopy()
		if _, err := b.Decode(stored.Object); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if _, err := b.Decode(before.Object); err != nil {
			return nil // It was stored by an API server that knows other types.
		}
		errs = b.Validate(stored, before)
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(b.kind.GroupKind(), object.GetName(), errs)
}

// typedMetadata returns the metadata of an object, or an error if a field anywhere in the object has a wrong type, such as a text for a
// number.
func (b builtIn) typedMetadata(object *unstructured.Unstructured) (metav1.Object, error) {
	typed, err := scheme.Scheme.New(b.kind)
	if err != nil {
		return nil, err
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed) != nil {
		_, err := b.Decode(object.DeepCopy().Object) // It is the API server's way, and names the field.
		return object, err
	}
	return meta.Accessor(typed)
}
