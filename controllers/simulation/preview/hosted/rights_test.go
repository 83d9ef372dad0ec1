package hosted

import (
	"errors"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestMissingRights checks what a preview says of rights that the account lacks, and of those that can't be asked for, which hold nothing.
func TestMissingRights(t *testing.T) {
	account := identity.Account{Namespace: "a", Name: "robot"}
	right := func(verb, resource, namespace string) access.Right {
		return access.Right{Verb: verb, GroupResource: schema.GroupResource{Resource: resource}, Namespace: namespace}
	}
	for name, tc := range map[string]struct {
		account          identity.Account
		allowed          bool
		err              error
		missing, unknown string
	}{
		"all":        {account: account, allowed: true},
		"the host's": {},
		"none": {
			account: account,
			missing: "it would need rights that ServiceAccount a/robot lacks: create, delete roles in the namespace b; create roles in the namespace c",
		},
		"unknown": {
			account: account, err: errors.New("broken"),
			unknown: "; whether ServiceAccount a/robot may do all of it is unknown: whether ServiceAccount a/robot may create roles in the namespace b is unknown: broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := fake.NewClientset()
			api.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
				review.Status.Allowed = tc.allowed
				return true, review, tc.err
			})
			reviewer := access.NewReviewer(api.AuthorizationV1().SelfSubjectAccessReviews(), clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			p := &plan.Plan{}
			p.Config.Account = tc.account
			r := &run{Previewer: New("libretto", nil, reviewer), PreviewSubject: definition.PreviewSubject{Plan: p}}
			r.rights.add(right("create", "roles", "c"), right("create", "roles", "b"))
			if tc.err == nil {
				r.rights.add(right("delete", "roles", "b"))
			}
			if missing, unknown := r.missing(t.Context()); missing != tc.missing || unknown != tc.unknown {
				t.Errorf("missing %q, unknown %q, want %q and %q", missing, unknown, tc.missing, tc.unknown)
			}
		})
	}
}
