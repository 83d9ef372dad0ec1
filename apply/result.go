package apply

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Result is the result of a change.
type Result struct {
	Change Change
	// Object is the object as the API server returned it, or nil if it returned none.
	Object *unstructured.Unstructured
	// Partial says that the API server returned only the metadata of Object.
	Partial bool
	// Unknown are the paths of the fields that were sent and that the API server does not know and has dropped, as WarningHandler has
	// heard.
	Unknown []string
	// Gone says that an object to delete or to release was not there any more, which is no error.
	Gone bool
	// Err wraps the API server's error and names the object. Classify tells what to do about it.
	Err error
}

// NoEffect reports whether an update left the object as it was, because the API
// server drops or rewrites all that was to change, or whether it keeps no record of what
// was applied. The next pass will find the same difference again. For an apply, a
// partial outcome does not tell.
func (o Result) NoEffect() bool {
	if o.Change.ServerSide != nil {
		return !o.Partial && o.Err == nil && o.Object != nil && !o.Change.heldBy(o.Object)
	}
	return o.Err == nil && o.Object != nil && o.Change.Action == ActionUpdate &&
		o.Object.GetResourceVersion() == o.Change.Object.GetResourceVersion() &&
		o.Object.GetResourceVersion() != ""
}

// Failure classifies an error by what the caller must do about it.
type Failure string

const (
	// FailureNone: there is no error.
	FailureNone Failure = ""
	// FailureConflict: the object is no longer as it was observed. Come back when the cache
	// has caught up; no event is needed.
	FailureConflict Failure = "Stale"
	// FailureAlreadyExists: the object to create exists. Either the cache has yet to show an
	// object of our own, or it belongs to another controller, as its controllerRef says.
	FailureAlreadyExists Failure = "Taken"
	// FailureFieldConflict: other managers hold fields with other values, and they are not to be
	// taken from them. FieldManagerConflicts returns which. It lasts until one manager drops the field.
	FailureFieldConflict Failure = "Contested"
	// FailureNamespaceMissing: the namespace to create the object in is not there, or is being
	// deleted (see Terminating). It lasts until the namespace changes.
	FailureNamespaceMissing Failure = "NoNamespace"
	// FailureInvalid: the API server will not have it and, unless something changes, never will.
	FailureInvalid Failure = "Refused"
	// FailureUnavailable: the API server could not be asked or had no time. Try again.
	FailureUnavailable Failure = "Unavailable"
)

// Classify returns the class of an outcome's error.
func Classify(err error) Failure {
	switch {
	case err == nil:
		return FailureNone
	case len(FieldManagerConflicts(err)) > 0:
		return FailureFieldConflict
	case untyped(err):
		return FailureInvalid
	case missing(err), Terminating(err):
		return FailureNamespaceMissing
	case apierrors.IsAlreadyExists(err):
		return FailureAlreadyExists
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsGone(err):
		return FailureConflict
	case refused(err):
		return FailureInvalid
	default:
		return FailureUnavailable
	}
}

// missing reports whether the API server looked for a namespace and did not find it. That
// an object or a resource is not there is another matter.
func missing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == "" && details.Kind == "namespaces"
}

// Terminating reports whether a creation was refused because its namespace is being deleted.
func Terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// refused reports whether the API server judged the request and not the moment:
// one of the client's errors in HTTP, but for those that pass.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != 408 && code != 429
}
