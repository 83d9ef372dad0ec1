package objectwatch

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset"
)

// TestRecordAccess has the reason why an object can't be read follow what the API server says, without alternating between two requests.
func TestRecordAccess(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New(why))
	}
	o := &object{Entry: &watchset.Entry[Snapshot]{}, name: Name{Account: identity.Account{Namespace: "a", Name: "robot"}}, missing: "install it"}
	for _, step := range []struct {
		verb string
		err  error
		want string
	}{
		{"list", forbidden("the host may not act as it"), "the host may not act as it"},
		{"watch", forbidden("it may not watch"), "the host may not act as it"},
		{"list", errors.New("the connection is lost"), "the host may not act as it"},
		{"list", forbidden("it may not list"), "it may not list"},
		{"watch", forbidden("it may not watch"), "it may not list"},
		{"watch", nil, ""},
		{"watch", forbidden("it may not watch"), "it may not watch"},
		{"watch", apierrors.NewUnauthorized("the token is gone"), "the token is gone"},
		{"watch", apierrors.NewNotFound(corev1.Resource("configmaps"), "a"), `configmaps "a" not found: install it`},
	} {
		o.recordAccess(step.verb, step.err)
		got := ""
		if err := o.Read().AccessErr; err != nil {
			got = err.Error()
		}
		if want := step.want; want != got && (want == "" || got != "configmaps \"a\" is forbidden: "+want) {
			t.Errorf("%s: %v: the object can't be read because of %q, want %q", step.verb, step.err, got, want)
		}
	}
}
