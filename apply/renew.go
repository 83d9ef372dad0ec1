package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// errChanged is why a change is refused that was made for another version of its object.
var errChanged = errors.New("the object has changed since it was observed")

// errGone is why there is nothing to delete or to release. It is no failure.
var errGone = errors.New("the object is gone")

// maxRenewals is how often one change is made anew. An update that is made anew is patched field by field, so that only other writers of
// the same fields can keep it from being written; for others each attempt is a race.
const maxRenewals = 5

// perform writes a change. If its object is no longer as it was observed, the change is
// made anew from what the API server has, and tried again: where others write often,
// or the watch is late, the cache may never be as new as a precondition wants it. It
// returns the change that was tried last.
func (e *execution) perform(ctx context.Context, c Change) (Change, *unstructured.Unstructured, error) {
	object, err := e.request(ctx, c)
	for range maxRenewals {
		if e.options.Renew == nil || !c.outdated(err) {
			break
		}
		live, getErr := e.resource(c).Get(ctx, c.Key.Name, metav1.GetOptions{})
		switch {
		case getErr != nil && !apierrors.IsNotFound(getErr):
			return c, nil, err
		case getErr != nil || live.GetUID() != c.Observed.GetUID():
			switch c.Action {
			case ActionDelete, ActionRecreate, ActionRelease, ActionOrphan:
				err = errGone // Whoever did that.
			}
			return c, nil, err
		}
		renewed, renewErr := e.renew(c, live)
		if renewErr != nil {
			return c, nil, renewErr
		}
		c = renewed
		object, err = e.request(ctx, c)
	}
	return c, object, err
}

// renew returns the change that the object calls for as it is now, which is an error of
// the class Stale if there is none.
func (e *execution) renew(c Change, live *unstructured.Unstructured) (Change, error) {
	renewed, err := e.options.Renew(c, live)
	if err != nil {
		return c, err
	}
	if renewed == nil {
		return c, apierrors.NewConflict(c.Resource.GroupResource(), c.Key.Name, errChanged)
	}
	renewed.renewed = true
	return *renewed, nil
}

// outdated reports whether an error is that the object is not as it was observed.
func (c Change) outdated(err error) bool {
	return c.Observed != nil && apierrors.IsConflict(err) && len(FieldManagerConflicts(err)) == 0
}
