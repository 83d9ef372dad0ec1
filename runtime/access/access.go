// Package access asks the API server what the host may do, before it does what it could not undo.
package access

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"
)

const (
	// allowedTTL is how long it is taken for granted that the host may create objects of a resource, unless the API server refuses one.
	allowedTTL = 5 * time.Minute
	// deniedTTL is how long a refusal is remembered: as many objects need the right at once, and it may be granted any time.
	deniedTTL = 2 * time.Second
	// maxReviews is how many answers are kept before those that have expired are dropped.
	maxReviews = 1000
)

// Reviewer asks the API server by SelfSubjectAccessReviews whether the host may create objects. It remembers the answers, in memory.
type Reviewer struct {
	client  client.SelfSubjectAccessReviewInterface
	clock   clock.PassiveClock
	flights singleflight.Group
	mu      sync.Mutex
	reviews map[place]review
}

// place is where a right is asked for.
type place struct {
	resource  schema.GroupResource
	namespace string
}

// review is an answer. An error says that the right is missing.
type review struct {
	err   error
	until time.Time
}

// NewReviewer returns a Reviewer for the account of a client.
func NewReviewer(client client.SelfSubjectAccessReviewInterface, clock clock.PassiveClock) *Reviewer {
	return &Reviewer{client: client, clock: clock, reviews: map[place]review{}}
}

// MayCreate returns nil if the host may create objects of a resource in a namespace, which is empty for those without. Otherwise it returns
// what is missing as the API server's error Forbidden, or why that is unknown.
func (r *Reviewer) MayCreate(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	at := place{resource.GroupResource(), namespace}
	r.mu.Lock()
	known, ok := r.reviews[at]
	r.mu.Unlock()
	if ok && r.clock.Now().Before(known.until) {
		return known.err
	}
	_, err, _ := r.flights.Do(strconv.Quote(at.resource.String())+namespace, func() (any, error) {
		return nil, r.ask(ctx, at)
	})
	return err
}

// ask asks the API server and remembers its answer.
func (r *Reviewer) ask(ctx context.Context, at place) error {
	answer, err := r.client.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: at.namespace, Verb: "create", Group: at.resource.Group, Resource: at.resource.Resource,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("whether the host may create %s%s is unknown: %w", at.resource, inNamespace(at.namespace), err)
	}
	found := review{until: r.clock.Now().Add(allowedTTL)}
	if !answer.Status.Allowed {
		found = review{err: missing(at), until: r.clock.Now().Add(deniedTTL)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reviews) >= maxReviews {
		maps.DeleteFunc(r.reviews, func(_ place, kept review) bool { return !r.clock.Now().Before(kept.until) })
	}
	r.reviews[at] = found
	return found.err
}

// Forget drops what is known, as the API server has refused to create an object.
func (r *Reviewer) Forget(resource schema.GroupVersionResource, namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reviews, place{resource.GroupResource(), namespace})
}

func missing(at place) error {
	return apierrors.NewForbidden(at.resource, "", fmt.Errorf(
		"the host's account may not create %s%s, so that it would not come back: "+
			"grant the verb create, or let the updateStrategy be InPlace or OnDelete",
		at.resource, inNamespace(at.namespace)))
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return " in the cluster"
	}
	return " in the namespace " + namespace
}
