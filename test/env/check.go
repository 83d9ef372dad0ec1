package env

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Check returns what is wrong with an object.
type Check = func(*unstructured.Unstructured) error

// HasField checks the text of a field, as fmt prints it. The text of an absent field is <nil>.
func HasField(want any, path ...string) Check {
	return func(o *unstructured.Unstructured) error {
		value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
		if got := fmt.Sprint(value); got != fmt.Sprint(want) {
			return fmt.Errorf("%v of %s %s is %q, want %q (%v)", path, o.GetKind(), o.GetName(), got, fmt.Sprint(want), err)
		}
		return nil
	}
}

// HasText checks data.text.
func HasText(want string) Check { return HasField(want, "data", "text") }

// HasSaid checks status.said.
func HasSaid(want any) Check { return HasField(want, "status", "said") }

// HasAnnotation checks an annotation. An absent one has no text.
func HasAnnotation(key, want string) Check {
	return func(o *unstructured.Unstructured) error {
		if got := o.GetAnnotations()[key]; got != want {
			return fmt.Errorf("%s %s has annotation %s=%q, want %q", o.GetKind(), o.GetName(), key, got, want)
		}
		return nil
	}
}

// HasFinalizer checks whether an object has a finalizer.
func HasFinalizer(finalizer string, want bool) Check {
	return func(o *unstructured.Unstructured) error {
		if got := slices.Contains(o.GetFinalizers(), finalizer); got != want {
			return fmt.Errorf("%s has finalizers %q, want %s among them: %v", o.GetName(), o.GetFinalizers(), finalizer, want)
		}
		return nil
	}
}

// OwnedBy checks the controller reference. Without an owner there must be none.
func OwnedBy(owner *unstructured.Unstructured) Check {
	return func(o *unstructured.Unstructured) error {
		ref := metav1.GetControllerOf(o)
		switch {
		case owner == nil && ref == nil:
			return nil
		case owner == nil:
			return fmt.Errorf("%s belongs to %s %s, want no owner", o.GetName(), ref.Kind, ref.Name)
		case ref == nil || ref.UID != owner.GetUID():
			return fmt.Errorf("%s belongs to %v, want %s %s", o.GetName(), ref, owner.GetKind(), owner.GetName())
		}
		return nil
	}
}

// IsObserved checks that status.observedGeneration is the present generation.
func IsObserved(o *unstructured.Unstructured) error {
	return HasField(o.GetGeneration(), "status", "observedGeneration")(o)
}
