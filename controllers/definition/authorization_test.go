package definition

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestAuthorizedCondition checks what is said of missing rights: what stops something first, and then what is not known.
func TestAuthorizedCondition(t *testing.T) {
	right := func(verb, resource string) access.Right {
		return access.Right{Verb: verb, GroupResource: schema.GroupResource{Resource: resource}, Namespace: "a"}
	}
	for name, tc := range map[string]struct {
		lacks   authorization
		status  metav1.ConditionStatus
		reason  string
		message []string
	}{
		"nothing": {authorization{}, metav1.ConditionTrue, "Authorized", []string{"ServiceAccount a/robot may do what is known to be needed"}},
		"for parents": {
			authorization{forParents: []access.Right{right("create", "pods"), right("update", "pods")}, unknown: errors.New("broken")},
			metav1.ConditionFalse, "Forbidden", []string{"ServiceAccount a/robot may not create, update pods in the namespace a\nparents there wait"},
		},
		"for scripts alone": {
			authorization{forOthers: []access.Right{right("list", "configmaps")}}, metav1.ConditionFalse, "Forbidden",
			[]string{"may not list configmaps in the namespace a: libretto rbac -f FILES prints what is enough"},
		},
		"for everything": {
			authorization{forParents: []access.Right{right("list", "pods")}, forOthers: []access.Right{right("list", "configmaps")}, asked: 2},
			metav1.ConditionFalse, "Forbidden",
			[]string{"nothing of it is granted: kubectl get serviceaccount -n a robot shows whether the account exists"},
		},
		"not known": {
			authorization{unknown: errors.New("broken"), forEvents: []access.Right{right("create", "events")}}, metav1.ConditionUnknown,
			"NotReviewed", []string{"broken", "selfsubjectaccessreviews", "the API server decides"},
		},
		"for events": {
			authorization{forEvents: []access.Right{right("create", "events")}}, metav1.ConditionTrue, "EventsForbidden",
			[]string{"may do all but create events in the namespace a"},
		},
	} {
		tc.lacks.account = identity.Account{Namespace: "a", Name: "robot"}
		c := tc.lacks.condition()
		if c.Type != "Authorized" || c.Status != tc.status || c.Reason != tc.reason {
			t.Errorf("%s: %s is %s with reason %s, want %s with %s", name, c.Type, c.Status, c.Reason, tc.status, tc.reason)
		}
		for _, part := range tc.message {
			if !strings.Contains(c.Message, part) {
				t.Errorf("%s: message %q lacks %q", name, c.Message, part)
			}
		}
	}
}

// TestNeedsRightsIn has the rights of a definition reviewed after changes where it needs some, and after those for all namespaces.
func TestNeedsRightsIn(t *testing.T) {
	var s runtimeState
	if s.needsRightsIn(sets.New("")) {
		t.Error("a definition without an account is reviewed")
	}
	in := sets.New("shop", "scripts")
	s.reviewedIn.Store(&in)
	for changed, want := range map[string]bool{"": true, "shop": true, "scripts": true, "blog": false} {
		if got := s.needsRightsIn(sets.New("other", changed)); got != want {
			t.Errorf("after a change in %q: %v, want %v", changed, got, want)
		}
	}
}
