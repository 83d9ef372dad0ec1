package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// TestMayCreate checks which answers are asked for anew, and the result of a question that has none.
func TestMayCreate(t *testing.T) {
	api, clock := fake.NewClientset(), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	allowed, failure, asked := true, error(nil), 0
	api.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		if of := review.Spec.ResourceAttributes; of.Verb != "create" || of.Resource != "pods" || of.Namespace == "" {
			t.Errorf("asked about %+v", of)
		}
		review.Status.Allowed = allowed
		return true, review, failure
	})
	r := NewReviewer(api.AuthorizationV1().SelfSubjectAccessReviews(), clock)
	steps := []struct {
		reason    string
		change    func()
		namespace string
		asked     int
		check     func(error) bool
	}{
		{"Nothing is known.", nil, "a", 1, isNil},
		{"It was just asked.", func() { allowed = false }, "a", 1, isNil},
		{"Another namespace has other rights.", nil, "b", 2, apierrors.IsForbidden},
		{"Many objects need the right at once.", nil, "b", 2, apierrors.IsForbidden},
		{"It may have been granted meanwhile.", func() { clock.SetTime(clock.Now().Add(deniedTTL)); allowed = true }, "b", 3, isNil},
		{"The API server has refused to create one.", func() { r.Forget(identity.Account{}, pods, "a"); allowed = false }, "a", 4, apierrors.IsForbidden},
		{"A right may be taken away.", func() { clock.SetTime(clock.Now().Add(createTTL)) }, "b", 5, apierrors.IsForbidden},
		{"What can't be asked is unknown.", func() { r.Forget(identity.Account{}, pods, "b"); failure = errBroken }, "b", 6, isBroken},
		{"And is asked again.", func() { failure, allowed = nil, true }, "b", 7, isNil},
	}
	for _, step := range steps {
		if step.change != nil {
			step.change()
		}
		if err := r.MayCreate(t.Context(), pods, step.namespace); asked != step.asked || !step.check(err) {
			t.Errorf("%s: %v, and %d requests, want %d", step.reason, err, asked, step.asked)
		}
	}
}

// TestMayRead asks for list and watch, in the cluster before the namespace, as the account of the context.
func TestMayRead(t *testing.T) {
	api, clock := fake.NewClientset(), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	allowed, asked := map[string]bool{}, []string(nil)
	api.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		right := review.Spec.ResourceAttributes.Verb + " " + review.Spec.ResourceAttributes.Namespace
		asked = append(asked, right)
		review.Status.Allowed = allowed[right]
		return true, review, nil
	})
	r := NewReviewer(api.AuthorizationV1().SelfSubjectAccessReviews(), clock)
	robot := identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "robot"})
	other := identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "other"})
	for _, step := range []struct {
		ctx    context.Context
		change func()
		asked  []string
		err    string
	}{
		{robot, nil, []string{"list ", "list a"}, "ServiceAccount a/robot may not list pods in the namespace a"},
		{robot, func() { allowed["list a"] = true; clock.SetTime(clock.Now().Add(deniedTTL)) }, []string{"list ", "list a", "watch ", "watch a"},
			"ServiceAccount a/robot may not watch pods"},
		{robot, func() { allowed["watch "] = true; clock.SetTime(clock.Now().Add(deniedTTL)) }, []string{"watch "}, ""},
		{robot, nil, nil, ""},
		{other, func() { allowed["list "] = true }, []string{"list ", "watch "}, ""},
		{other, func() { clear(allowed); clock.SetTime(clock.Now().Add(readTTL - time.Second)) }, nil, ""},
		{other, func() { clock.SetTime(clock.Now().Add(time.Second)) }, []string{"list ", "list a"}, "ServiceAccount a/other may not list pods"},
	} {
		asked = nil
		if step.change != nil {
			step.change()
		}
		err := r.MayRead(step.ctx, pods, "a")
		if (step.err == "") != (err == nil) || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("error %v, want %q", err, step.err)
		}
		if !slices.Equal(asked, step.asked) {
			t.Errorf("asked %q, want %q", asked, step.asked)
		}
	}
}

// TestAccountsAtOnce has two accounts ask the same while neither has its answer: each gets its own.
func TestAccountsAtOnce(t *testing.T) {
	api, asked := &reviews{answers: map[string]chan bool{"a": make(chan bool), "b": make(chan bool)}}, make(chan error)
	r := NewReviewer(api, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	ask := func(name string) {
		asked <- r.MayCreate(identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: name}), pods, "a")
	}
	go ask("a")
	api.answers["a"] <- true // It waits for the rest of the answer.
	go ask("b")
	select {
	case api.answers["b"] <- false:
	case <-time.After(10 * time.Second):
		t.Fatal("the second account was not asked for")
	}
	close(api.answers["b"])
	if err := <-asked; !apierrors.IsForbidden(err) {
		t.Errorf("the account that may not has the error %v", err)
	}
	close(api.answers["a"])
	if err := <-asked; err != nil {
		t.Errorf("the account that may has the error %v", err)
	}
}

// reviews answers each account when its channel is closed, with what came before.
type reviews struct {
	client.SelfSubjectAccessReviewInterface
	answers map[string]chan bool
}

func (r *reviews) Create(
	ctx context.Context, review *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	account, _ := identity.AccountOf(ctx)
	review.Status.Allowed = <-r.answers[account.Name]
	<-r.answers[account.Name]
	return review, nil
}

// TestMayReadByName has an account that may read objects of some names read these, and no others.
func TestMayReadByName(t *testing.T) {
	api := fake.NewClientset()
	granted, failure := map[string]bool{"list pods one": true, "watch pods one": true, "list pods two": true, "get pods three": true}, error(nil)
	api.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		of := review.Spec.ResourceAttributes
		review.Status.Allowed = granted[of.Verb+" "+of.Resource+" "+of.Name]
		return true, review, failure
	})
	r := NewReviewer(api.AuthorizationV1().SelfSubjectAccessReviews(), clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	for _, c := range []struct {
		names []string
		err   string
	}{
		{nil, "may not list pods in the namespace a"},
		{[]string{"one"}, ""},
		{[]string{"one", "two"}, "may not watch pods two in the namespace a"},
		{[]string{"three"}, "may not list pods in the namespace a"},
	} {
		err := r.MayRead(t.Context(), pods, "a", c.names...)
		if (c.err == "") != (err == nil) || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v: error %v, want %q", c.names, err, c.err)
		}
	}
	if failure = errBroken; !isBroken(r.MayRead(t.Context(), pods, "b", "one")) {
		t.Error("what can't be asked is allowed")
	}
}

// TestMissing asks for what is not known yet, and for all of it again when rights have changed.
func TestMissing(t *testing.T) {
	api, clock := fake.NewClientset(), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	var mu sync.Mutex
	allowed, asked, failure := map[string]bool{}, 0, error(nil)
	api.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		of := review.Spec.ResourceAttributes
		review.Status.Allowed = allowed[strings.Join([]string{of.Verb, of.Resource, of.Subresource, of.Name, of.Namespace}, " ")]
		return true, review, failure
	})
	r := NewReviewer(api.AuthorizationV1().SelfSubjectAccessReviews(), clock)
	rights := []Right{
		{Verb: "create", GroupResource: pods.GroupResource(), Namespace: "a"},
		{Verb: "update", GroupResource: pods.GroupResource(), Subresource: "status", Namespace: "a"},
		{Verb: "watch", GroupResource: schema.GroupResource{Resource: "secrets"}, Namespace: "b", Name: "token"},
	}
	for _, step := range []struct {
		reason string
		change func()
		want   string
		asked  int
		err    bool
	}{
		{"Nothing is granted: each is asked for everywhere and in the namespace.", nil,
			"create pods in the namespace a, update pods/status in the namespace a, watch secrets token in the namespace b", 6, false},
		{"That was just said.", func() { allowed["create pods   "] = true },
			"create pods in the namespace a, update pods/status in the namespace a, watch secrets token in the namespace b", 0, false},
		{"Rights have changed elsewhere.", func() { r.Expire(sets.New("c")) },
			"create pods in the namespace a, update pods/status in the namespace a, watch secrets token in the namespace b", 0, false},
		{"Rights have changed: one is granted everywhere, and one for a name.",
			func() { r.Expire(sets.New("")); allowed["watch secrets  token b"] = true }, "update pods/status in the namespace a", 5, false},
		{"What is missing is asked for again, and nothing else.", func() { clock.SetTime(clock.Now().Add(deniedTTL)) },
			"update pods/status in the namespace a", 2, false},
		{"What may be read is asked for again before what may be written.", func() { clock.SetTime(clock.Now().Add(readTTL)) },
			"update pods/status in the namespace a", 4, false},
		{"What can't be asked is not missing.", func() { r.Expire(sets.New("")); failure = errBroken }, "", 3, true},
	} {
		if asked = 0; step.change != nil {
			step.change()
		}
		missing, err := r.Missing(t.Context(), rights)
		var texts []string
		for _, right := range missing {
			texts = append(texts, right.String())
		}
		if got := strings.Join(texts, ", "); got != step.want || asked != step.asked || (err != nil) != step.err {
			t.Errorf("%s: missing %q with %d questions and error %v, want %q with %d", step.reason, got, asked, err, step.want, step.asked)
		}
	}
}

var errBroken = errors.New("broken")

func isNil(err error) bool    { return err == nil }
func isBroken(err error) bool { return errors.Is(err, errBroken) && !apierrors.IsForbidden(err) }
