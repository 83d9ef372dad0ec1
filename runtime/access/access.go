// Package access makes requests as the account that they are made for, and asks the API server what an account may do.
package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
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
	// maxAtOnce is how much is asked at the same time for one caller.
	maxAtOnce = 8
)

// Reviewer asks the API server by SelfSubjectAccessReviews what the account of a context may do. It remembers the answers, in memory.
type Reviewer struct {
	// Changes tell when to Expire what is remembered. Nil means that it is asked for again after a time.
	Changes *Changes

	client  client.SelfSubjectAccessReviewInterface
	clock   clock.PassiveClock
	flights singleflight.Group
	mu      sync.Mutex
	reviews map[question]review
	// changes counts the calls of Expire: an answer to what was asked before one is not remembered.
	changes int
}

// question is what is asked for: whether an account has a right.
type question struct {
	account identity.Account
	Right
}

// review is an answer.
type review struct {
	allowed bool
	until   time.Time
}

// NewReviewer returns a Reviewer. Requests of the client are made as the account of their context.
func NewReviewer(client client.SelfSubjectAccessReviewInterface, clock clock.PassiveClock) *Reviewer {
	return &Reviewer{client: client, clock: clock, reviews: map[question]review{}}
}

// MayCreate returns nil if the account of the context may create objects of a resource in a namespace, which is empty for those without.
// Otherwise it returns what is missing as the API server's error Forbidden, or why that is unknown.
func (r *Reviewer) MayCreate(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	account, _ := identity.AccountOf(ctx)
	asked := question{account, Right{Verb: "create", GroupResource: resource.GroupResource(), Namespace: namespace}}
	allowed, err := r.review(ctx, asked, createTTL)
	if err != nil {
		return asked.unknown(err)
	}
	if !allowed {
		return asked.missing("so that it would not come back: grant the verb create, or let the updateStrategy be InPlace or OnDelete")
	}
	return nil
}

// MayRead returns nil if the account of the context may list and watch a resource in a namespace, or, if names are given, each object of
// these names: RBAC has rules with resourceNames. Otherwise it returns what is missing as the API server's error Forbidden, or why that is
// unknown.
func (r *Reviewer) MayRead(ctx context.Context, resource schema.GroupVersionResource, namespace string, names ...string) error {
	err := r.mayRead(ctx, Right{GroupResource: resource.GroupResource(), Namespace: namespace})
	if !apierrors.IsForbidden(err) {
		return err
	}
	for i, name := range names {
		named := r.mayRead(ctx, Right{GroupResource: resource.GroupResource(), Namespace: namespace, Name: name})
		if named != nil && i == 0 {
			return err // There is no such rule, as it seems.
		}
		if err = named; err != nil {
			return err
		}
	}
	return err
}

// mayRead is MayRead for the objects of a right.
func (r *Reviewer) mayRead(ctx context.Context, of Right) error {
	account, _ := identity.AccountOf(ctx)
	for _, of.Verb = range ReadVerbs {
		asked := question{account, of}
		allowed, err := r.reviewAnywhere(ctx, asked)
		if err != nil {
			return err
		}
		if !allowed {
			return asked.missing("which hooks would be shown: grant the verbs list and watch")
		}
	}
	return nil
}

// Missing returns those of some rights that the account of the context does not have, in their order. An error says why some of the
// others are unknown.
func (r *Reviewer) Missing(ctx context.Context, rights []Right) ([]Right, error) {
	account, _ := identity.AccountOf(ctx)
	open := r.withoutAllowed(account, rights)
	if len(open) == 0 {
		return nil, nil
	}
	lacks, errs := make([]bool, len(open)), make([]error, len(open))
	var asking errgroup.Group
	asking.SetLimit(maxAtOnce)
	for i, right := range open {
		asking.Go(func() error {
			allowed, err := r.reviewAnywhere(ctx, question{account, right})
			lacks[i], errs[i] = err == nil && !allowed, err
			return nil
		})
	}
	_ = asking.Wait() // Each error is in errs.
	var missing []Right
	for i, right := range open {
		if lacks[i] {
			missing = append(missing, right)
		}
	}
	return missing, cmp.Or(errs...) // Always the same one: it is a part of a condition's message.
}

// withoutAllowed returns the rights that an account is not known to have, for the namespace or for all. It is called in each sync.
func (r *Reviewer) withoutAllowed(account identity.Account, rights []Right) (open []Right) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for _, right := range rights {
		everywhere := right
		everywhere.Namespace = ""
		if !r.reviews[question{account, right}].allows(now) && !r.reviews[question{account, everywhere}].allows(now) {
			open = append(open, right)
		}
	}
	return open
}

func (r review) allows(now time.Time) bool { return r.allowed && now.Before(r.until) }

// reviewAnywhere is review for all namespaces before the one: most accounts that may do something in one namespace may do it in all, or in
// few.
func (r *Reviewer) reviewAnywhere(ctx context.Context, asked question) (bool, error) {
	if len(r.withoutAllowed(asked.account, []Right{asked.Right})) == 0 {
		return true, nil
	}
	ttl := createTTL
	if slices.Contains(ReadVerbs, asked.Verb) {
		ttl = readTTL
	}
	everywhere := asked
	everywhere.Namespace = ""
	allowed, err := r.review(ctx, everywhere, ttl)
	if err == nil && !allowed && asked.Namespace != "" {
		allowed, err = r.review(ctx, asked, ttl)
	}
	if err != nil {
		err = asked.unknown(err)
	}
	return allowed, err
}

// review returns the answer that is remembered, or asks for one that is remembered for ttl.
func (r *Reviewer) review(ctx context.Context, asked question, ttl time.Duration) (bool, error) {
	r.mu.Lock()
	known, ok := r.reviews[asked]
	r.mu.Unlock()
	if ok && r.clock.Now().Before(known.until) {
		return known.allowed, nil
	}
	// The text of a question is that of its right alone.
	allowed, err, _ := r.flights.Do(fmt.Sprintf("%q %#v", asked.account, asked.Right), func() (any, error) {
		return r.ask(ctx, asked, ttl)
	})
	return allowed.(bool), err
}

// ask asks the API server and remembers its answer.
func (r *Reviewer) ask(ctx context.Context, asked question, ttl time.Duration) (bool, error) {
	r.mu.Lock()
	changes := r.changes
	r.mu.Unlock()
	answer, err := r.client.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: asked.Namespace, Verb: asked.Verb, Group: asked.Group, Resource: asked.Resource, Subresource: asked.Subresource,
			Name: asked.Name,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	found := review{answer.Status.Allowed, r.clock.Now().Add(ttl)}
	if !found.allowed {
		found.until = r.clock.Now().Add(deniedTTL)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reviews) >= maxReviews {
		maps.DeleteFunc(r.reviews, func(_ question, kept review) bool { return !r.clock.Now().Before(kept.until) })
	}
	if changes == r.changes {
		r.reviews[asked] = found
	}
	return found.allowed, nil
}

// Forget drops that an account may create objects, as the API server has refused one.
func (r *Reviewer) Forget(account identity.Account, resource schema.GroupVersionResource, namespace string) {
	right := Right{Verb: "create", GroupResource: resource.GroupResource(), Namespace: namespace}
	everywhere := right
	everywhere.Namespace = ""
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reviews, question{account, right})
	delete(r.reviews, question{account, everywhere})
}

// Expire drops the answers about some namespaces, as what accounts may do there has changed, and all if an empty one is among them.
func (r *Reviewer) Expire(namespaces sets.Set[string]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	maps.DeleteFunc(r.reviews, func(of question, _ review) bool { return namespaces.Has("") || namespaces.Has(of.Namespace) })
}

// missing returns the error Forbidden for a right, with what follows from it.
func (q question) missing(consequence string) error {
	return apierrors.NewForbidden(q.GroupResource, "", fmt.Errorf("%s, %s", q.may("may not"), consequence))
}

// unknown returns the error for a right of which it is unknown whether the account has it.
func (q question) unknown(err error) error {
	return fmt.Errorf("whether %s is unknown: %w", q.may("may"), err)
}

func (q question) may(may string) string { return fmt.Sprintf("%s %s %s", q.account, may, q.Right) }
