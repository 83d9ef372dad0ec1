package consent

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

var (
	robot = identity.Account{Namespace: "a", Name: "robot"}
	web   = controller.Key{Kind: v1alpha1.GroupVersion.WithKind(v1alpha1.CompositeControllerKind), Name: "web"}
)

// newAnnotations returns Annotations of one account with an annotation, or an error in its place, both of which may be changed.
func newAnnotations(usedBy *string, failure *error, asked *int) (*Annotations, *clocktesting.FakePassiveClock) {
	client := fake.NewSimpleMetadataClient(runtime.NewScheme())
	client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		*asked++
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "robot"}}
		object.Annotations = map[string]string{usedByAnnotation: *usedBy}
		return true, object, *failure
	})
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	return New(client, clock), clock
}

// TestConsent checks which annotations list a definition, and the command for those that do not.
func TestConsent(t *testing.T) {
	const command = "kubectl annotate serviceaccount -n a robot --overwrite libretto.dev/used-by="
	for _, tc := range []struct{ reason, usedBy, err string }{
		{"It is listed.", "CompositeController/web", ""},
		{"It is one of several.", "MapController/a,  CompositeController/web ", ""},
		{"All of its kind are listed.", "CompositeController/*", ""},
		{"There is no annotation.", "", command + "'CompositeController/web'"},
		{"Another one is listed, and stays so.", "CompositeController/webs", command + "'CompositeController/webs, CompositeController/web'"},
		{"Another kind is listed.", "DecoratorController/web, MapController/*", command + "'DecoratorController/web, MapController/*, CompositeController/web'"},
		{"No list of everything is known.", "*", command + "'CompositeController/web'"},
		{"The command is no place for a command.", "A/'; rm -rf '", command + "'CompositeController/web'"},
	} {
		failure, asked := error(nil), 0
		c, _ := newAnnotations(&tc.usedBy, &failure, &asked)
		err := c.Check(t.Context(), robot, web)
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.err)) {
			t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
		}
	}
	inTeam := web
	inTeam.Namespace = "a"
	for usedBy, want := range map[string]bool{
		"CompositeController/web": false, "CompositeController/*": false, "CompositeController/a/web": true, "CompositeController/a/*": true,
	} {
		failure, asked := error(nil), 0
		c, _ := newAnnotations(&usedBy, &failure, &asked)
		if err := c.Check(t.Context(), robot, inTeam); (err == nil) != want || err != nil && !strings.HasSuffix(err.Error(), ", CompositeController/a/web'") {
			t.Errorf("with a namespace, used by %s: %v", usedBy, err)
		}
	}
	if err := (*Annotations)(nil).Check(t.Context(), robot, web); err != nil {
		t.Errorf("without the flag: %v", err)
	}
	if err := (&Annotations{}).Check(t.Context(), identity.Account{}, web); err != nil {
		t.Errorf("without an account: %v", err)
	}
}

// TestConsentIsRenewed checks how long an answer counts, and that there is none without one.
func TestConsentIsRenewed(t *testing.T) {
	usedBy, failure, asked := "CompositeController/web", error(nil), 0
	c, clock := newAnnotations(&usedBy, &failure, &asked)
	accounts := corev1.Resource("serviceaccounts")
	for _, step := range []struct {
		reason string
		after  time.Duration
		change func()
		asked  int
		err    string
	}{
		{"Nothing is known.", 0, func() { failure = errors.New("broken") }, 1, "whether ServiceAccount a/robot may be used is unknown: broken"},
		{"It is asked for again soon.", refusedTTL, func() { failure = nil }, 2, ""},
		{"It was just read.", ttl - time.Second, func() { usedBy = "" }, 2, ""},
		{"It has changed.", time.Second, nil, 3, "does not let CompositeController/web use it"},
		{"It was given.", ttl, func() { usedBy = "CompositeController/*" }, 4, ""},
		{"The API server gives no answer.", ttl, func() { failure = errors.New("broken") }, 5, ""},
		{"Nor for long.", maxAge, nil, 6, "is unknown: broken"},
		{"It does.", refusedTTL, func() { failure = nil }, 7, ""},
		{"The right to read it was taken away.", ttl, func() { failure = apierrors.NewForbidden(accounts, "robot", errors.New("no")) }, 8,
			"libretto rbac -f FILES --host --require-account-annotation prints what the host needs"},
		{"The account was deleted.", refusedTTL, func() { failure = apierrors.NewNotFound(accounts, "robot") }, 9, "a/robot does not exist"},
	} {
		if clock.SetTime(clock.Now().Add(step.after)); step.change != nil {
			step.change()
		}
		err := c.Check(t.Context(), robot, web)
		if step.err == "" && err != nil || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("%s: error %v, want %q", step.reason, err, step.err)
		}
		if asked != step.asked {
			t.Errorf("%s: asked %d times, want %d", step.reason, asked, step.asked)
		}
	}
}
