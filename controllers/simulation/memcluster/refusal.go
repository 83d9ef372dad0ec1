package memcluster

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal makes the cluster refuse writes of clients that record them.
type Refusal struct {
	// Verb and Resource, the plural, select the writes. An empty Name selects all objects.
	Verb     Verb
	Resource string
	Name     string
	// Reason is that of the error.
	Reason metav1.StatusReason
	// Times is the number of writes to refuse.
	Times int
	// Stored makes the cluster do the write, and answer with the error nevertheless: the response was lost.
	Stored bool
}

// RefusalReasons are the reasons that a refusal can have.
var RefusalReasons = []metav1.StatusReason{
	metav1.StatusReasonConflict, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests,
	metav1.StatusReasonServiceUnavailable, metav1.StatusReasonInternalError,
}

// Refuse adds a refusal for later writes. The result reports whether it has refused any yet.
func (c *Cluster) Refuse(r Refusal) (met func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	added, times := &r, r.Times
	c.refusals = append(c.refusals, added)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return added.Times < times
	}
}

// refused returns the first refusal that selects a write, or nil.
func (c *Cluster) refused(t *table, r *request) *Refusal {
	for _, refusal := range c.refusals {
		selected := refusal.Verb == r.recordedVerb() && refusal.Resource == t.GroupVersionResource.Resource &&
			(refusal.Name == "" || refusal.Name == r.name)
		if selected && refusal.Times > 0 {
			refusal.Times--
			return refusal
		}
	}
	return nil
}

func (r *Refusal) err(t *table, name string) error {
	switch r.Reason {
	case metav1.StatusReasonConflict:
		return apierrors.NewConflict(t.GroupResource(), name, errors.New("the object has been modified"))
	case metav1.StatusReasonForbidden:
		return apierrors.NewForbidden(t.GroupResource(), name, errors.New("refused as asked for"))
	case metav1.StatusReasonInvalid:
		return apierrors.NewInvalid(t.Kind.GroupKind(), name, nil)
	case metav1.StatusReasonNotFound:
		return apierrors.NewNotFound(t.GroupResource(), name)
	case metav1.StatusReasonAlreadyExists:
		return apierrors.NewAlreadyExists(t.GroupResource(), name)
	case metav1.StatusReasonTimeout:
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	case metav1.StatusReasonTooManyRequests:
		return apierrors.NewTooManyRequests("refused as asked for", 0)
	case metav1.StatusReasonServiceUnavailable:
		return apierrors.NewServiceUnavailable("refused as asked for")
	default:
		return apierrors.NewInternalError(fmt.Errorf("%s %s: refused as asked for", t.GroupVersionResource.Resource, name))
	}
}
