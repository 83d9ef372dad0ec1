// Package access makes requests as the account that they are made for, and asks the API server what an account may do.
package access

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

const (
	// createTTL is how long it is taken for granted that an account may create objects of a resource, unless the API server refuses one.
	createTTL = 5 * time.Minute
	// readTTL is how long a script is shown what an account may read no more.
	readTTL = 30 * time.Second
	// deniedTTL is how long a refusal is remembered: as many objects need the right at once, and it may be granted any time.
	deniedTTL = 2 * time.Second
	// maxReviews is how many answers are kept before those that have expired are dropped.
	maxReviews = 10000
)

// Reviewer asks the API server by SelfSubjectAccessReviews what the account of a context may do. It remembers the answers, in memory.
type Reviewer struct {
	client  client.SelfSubjectAccessReviewInterface
	clock   clock.PassiveClock
	flights singleflight.Group
	mu      sync.Mutex
	reviews map[right]review
}

// right is what is asked for. An empty namespace is that of objects without one, or all.
type right struct {
	account   identity.Account
	verb      string
	resource  schema.GroupResource
	namespace string
}

// review is an answer.
type review struct {
	allowed bool
	until   time.Time
}

// NewReviewer returns a Reviewer. Requests of the client are made as the account of their context.
func NewReviewer(client client.SelfSubjectAccessReviewInterface, clock clock.PassiveClock) *Reviewer {
	return &Reviewer{client: client, clock: clock, reviews: map[right]review{}}
}

// MayCreate returns nil if the account of the context may create objects of a resource in a namespace, which is empty for those without.
// Otherwise it returns what is missing as the API server's error Forbidden, or why that is unknown.
func (r *Reviewer) MayCreate(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	account, _ := identity.AccountOf(ctx)
	asked := right{account, "create", resource.GroupResource(), namespace}
	allowed, err := r.review(ctx, asked, createTTL)
	if err == nil && !allowed {
		err = asked.missing("so that it would not come back: grant the verb create, or let the updateStrategy be InPlace or OnDelete")
	}
	return err
}

// MayRead returns nil if the account of the context may list and watch a resource in a namespace. Otherwise it returns what is missing
// as the API server's error Forbidden, or why that is unknown.
func (r *Reviewer) MayRead(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	account, _ := identity.AccountOf(ctx)
	for _, verb := range []string{"list", "watch"} {
		asked := right{account, verb, resource.GroupResource(), namespace}
		everywhere := asked
		everywhere.namespace = ""
		allowed, err := r.review(ctx, everywhere, readTTL) // Most accounts that may read one namespace may read all, or few.
		if err == nil && !allowed && namespace != "" {
			allowed, err = r.review(ctx, asked, readTTL)
		}
		if err != nil {
			return err
		}
		if !allowed {
			return asked.missing("which hooks would be shown: grant the verbs list and watch")
		}
	}
	return nil
}

// review returns the answer that is remembered, or asks for one that is remembered for ttl.
func (r *Reviewer) review(ctx context.Context, asked right, ttl time.Duration) (bool, error) {
	r.mu.Lock()
	known, ok := r.reviews[asked]
	r.mu.Unlock()
	if ok && r.clock.Now().Before(known.until) {
		return known.allowed, nil
	}
	allowed, err, _ := r.flights.Do(fmt.Sprintf("%+v", asked), func() (any, error) {
		return r.ask(ctx, asked, ttl)
	})
	return allowed.(bool), err
}

// ask asks the API server and remembers its answer.
func (r *Reviewer) ask(ctx context.Context, asked right, ttl time.Duration) (bool, error) {
	answer, err := r.client.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: asked.namespace, Verb: asked.verb, Group: asked.resource.Group, Resource: asked.resource.Resource,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("whether %s is unknown: %w", asked.may("may"), err)
	}
	found := review{answer.Status.Allowed, r.clock.Now().Add(ttl)}
	if !found.allowed {
		found.until = r.clock.Now().Add(deniedTTL)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reviews) >= maxReviews {
		maps.DeleteFunc(r.reviews, func(_ right, kept review) bool { return !r.clock.Now().Before(kept.until) })
	}
	r.reviews[asked] = found
	return found.allowed, nil
}

// Forget drops that an account may create objects, as the API server has refused one.
func (r *Reviewer) Forget(account identity.Account, resource schema.GroupVersionResource, namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reviews, right{account, "create", resource.GroupResource(), namespace})
}

// missing returns the error Forbidden for a right, with what follows from it.
func (a right) missing(consequence string) error {
	return apierrors.NewForbidden(a.resource, "", fmt.Errorf("%s, %s", a.may("may not"), consequence))
}

func (a right) may(may string) string {
	return fmt.Sprintf("%s %s %s %s%s", a.account, may, a.verb, a.resource, inNamespace(a.namespace))
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return " in the cluster"
	}
	return " in the namespace " + namespace
}
