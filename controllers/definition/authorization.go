package definition

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/rights"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

const (
	// reviewInterval is when missing rights are asked for again, unless a change of rights is seen before, and reviewTimeout how long that
	// may take.
	reviewInterval, reviewTimeout = 10 * time.Second, 10 * time.Second
)

// authorization is what the account of a definition lacks.
type authorization struct {
	account identity.Account
	// forParents are rights without which parents wait, forOthers those for scripts, credentials and analyses, and forEvents those
	// without which there are no events.
	forParents, forOthers, forEvents []access.Right
	// asked is how many of the first two were asked for.
	asked int
	// unknown is why some rights could not be asked for, or nil.
	unknown error
}

// reviewRights asks what the account of the newest spec lacks. It has parents synced that may have waited for what is granted now, and
// returns when to ask again, or zero.
func (r *Reconciler) reviewRights(ctx context.Context, s *runtimeState) time.Duration {
	newest, reviewer, before := s.latest(), r.config.Environment.Access, s.rights
	if s.rights = nil; newest == nil || reviewer == nil || newest.plan.Config.Account.IsHost() {
		s.reviewedIn.Store(nil)
		return 0
	}
	r.watchRights()
	ctx, cancel := context.WithTimeout(identity.WithAccount(ctx, newest.plan.Config.Account), reviewTimeout)
	defer cancel()
	needs := rights.Of(newest.plan, s.rollout, r.config.Namespace)
	now := &authorization{account: newest.plan.Config.Account}
	ask := func(asked []access.Right) []access.Right {
		missing, err := reviewer.Missing(ctx, asked)
		if now.unknown == nil {
			now.unknown = err
		}
		return missing
	}
	forParents, forEvents := []access.Right(nil), rights.FixedAt(needs, rights.Informative)
	namespaces := s.parentNamespaces()
	if own := newest.plan.Namespace; own != "" { // Where parents will be, too.
		namespaces = []string{own}
	}
	for _, namespace := range namespaces {
		forParents = append(forParents, rights.At(needs, rights.Required, namespace)...)
		forEvents = append(forEvents, rights.At(needs, rights.Informative, namespace)...)
	}
	forOthers := rights.FixedAt(needs, rights.Required)
	reviewedIn := sets.New(namespaces...)
	for _, right := range slices.Concat(forOthers, forEvents) {
		reviewedIn.Insert(right.Namespace)
	}
	s.reviewedIn.Store(&reviewedIn)
	now.forParents, now.forOthers, now.forEvents, now.asked = ask(forParents), ask(forOthers), ask(forEvents), len(forParents)+len(forOthers)
	if s.rights = now; before != nil && len(now.forParents) < len(before.forParents) && s.running != nil {
		for _, i := range s.all() {
			i.reconciler.ResyncForbidden(s.running.queue)
		}
	}
	if now.unknown != nil || now.count() > 0 {
		return reviewInterval
	}
	return 0
}

// rightsChanged forgets what accounts may do in some namespaces, or in all if an empty one is among them, and has definitions reviewed
// that need rights there: whoever may write Roles in one costs others nothing.
func (r *Reconciler) rightsChanged(namespaces sets.Set[string]) {
	r.config.Environment.Access.Expire(namespaces)
	r.rightsChanges.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.states {
		if s.needsRightsIn(namespaces) {
			r.queue.Enqueue(key)
		}
	}
}

// needsRightsIn reports whether the account of the definition, if it has one, needs rights in one of some namespaces, of which an empty one
// stands for all.
func (s *runtimeState) needsRightsIn(namespaces sets.Set[string]) bool {
	in := s.reviewedIn.Load()
	return in != nil && (namespaces.Has("") || in.HasAny(namespaces.UnsortedList()...))
}

// parentNamespaces returns the namespaces of all parents, sorted.
func (s *runtimeState) parentNamespaces() []string {
	var all []string
	for _, i := range s.all() {
		all = append(all, i.reconciler.Namespaces()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// count returns how many rights are missing.
func (a *authorization) count() int { return len(a.forParents) + len(a.forOthers) + len(a.forEvents) }

// Reasons of the condition Authorized, besides variant.ReasonForbidden.
const (
	reasonAuthorized      = "Authorized"
	reasonNotReviewed     = "NotReviewed"
	reasonEventsForbidden = "EventsForbidden"
)

// condition returns the condition Authorized.
func (a *authorization) condition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionAuthorized, Status: metav1.ConditionTrue, Reason: reasonAuthorized}
	switch lacks := slices.Concat(a.forParents, a.forOthers); {
	case len(lacks) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, variant.ReasonForbidden
		c.Message = fmt.Sprintf("%s may not %s", a.account, access.Describe(lacks))
		if len(a.forParents) > 0 {
			c.Message += "\nparents there wait until it may"
		}
		c.Message += ": libretto rbac -f FILES prints what is enough"
		if len(lacks) == a.asked {
			c.Message += fmt.Sprintf("\nnothing of it is granted: kubectl get serviceaccount -n %s %s shows whether the account exists",
				a.account.Namespace, a.account.Name)
		}
	case a.unknown != nil:
		c.Status, c.Reason = metav1.ConditionUnknown, reasonNotReviewed
		c.Message = fmt.Sprintf("%v\nthe API server decides with each request; to know it before, let the account create selfsubjectaccessreviews, as "+
			"ClusterRole system:basic-user does, and the host do that as the account, as libretto rbac -f FILES --host prints it", a.unknown)
	case len(a.forEvents) > 0:
		c.Reason = reasonEventsForbidden
		c.Message = fmt.Sprintf("%s may do all but %s: there are no events about parents", a.account, access.Describe(a.forEvents))
	default:
		c.Message = fmt.Sprintf("%s may do what is known to be needed", a.account)
	}
	return c
}

// reasonAccountRefused is the reason of the condition Accepted if the account does not list the definition, which is looked at again after
// accountRetry.
const (
	reasonAccountRefused = "AccountRefused"
	accountRetry         = 5 * time.Second
)

// plan resolves a definition, and refuses one that its account does not let use it.
func (r *Reconciler) plan(ctx context.Context, object *unstructured.Unstructured) (*plan.Plan, *plan.Refusal) {
	p, refusal := r.planner.Plan(object)
	if refusal != nil {
		return nil, refusal
	}
	if err := r.consents.Check(ctx, p.Config.Account, p.Key()); err != nil {
		return nil, &plan.Refusal{Reason: reasonAccountRefused, Err: err}
	}
	return p, nil
}

// stopRefused stops what syncs parents as an account that does not let the definition use it any more.
func (r *Reconciler) stopRefused(ctx context.Context, key controller.Key, s *runtimeState) {
	if slices.ContainsFunc(s.all(), func(i *instance) bool {
		return i != s.next && r.consents.Check(ctx, i.plan.Config.Account, key) != nil
	}) {
		r.stop(key, s)
	}
}
