package memcluster

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal makes the cluster refuse writes.
type Refusal struct {
	// Verb and Resource, the plural, select the writes. An empty Name selects all objects.
	Verb     Verb
	Resource string
	Name     string
	// Reason is that of the error.
	Reason metav1.StatusReason
	// Times is the number of writes to refuse.
	Times int
}

// Refuse adds a refusal for later writes.
func (c *Cluster) Refuse(r Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusals = append(c.refusals, &r)
}

// refused returns the error of the first refusal that selects a write, or nil.
func (c *Cluster) refused(t *table, r *request) error {
	for _, refusal := range c.refusals {
		selected := refusal.Verb == r.recordedVerb() && refusal.Resource == t.GroupVersionResource.Resource &&
			(refusal.Name == "" || refusal.Name == r.name)
		if selected && refusal.Times > 0 {
			refusal.Times--
			return refusal.err(t, r.name)
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
	default:
		return apierrors.NewInternalError(fmt.Errorf("%s %s: refused as asked for", t.GroupVersionResource.Resource, name))
	}
}
