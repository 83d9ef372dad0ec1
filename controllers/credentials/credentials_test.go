package credentials

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/test/cluster"
)

const patience = 10 * time.Second

// issuer makes tokens that are numbered, or fails.
type issuer struct {
	clock *clocktesting.FakeClock
	mu    sync.Mutex
	made  int
	err   error
}

func (i *issuer) Issue(context.Context, *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return "", time.Time{}, i.err
	}
	i.made++
	return fmt.Sprint("token-", i.made), i.clock.Now().Add(time.Hour), nil
}

func (i *issuer) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = err
}

// stage is a keeper on a cluster in memory.
type stage struct {
	*testing.T
	client *fake.Clientset
	clock  *clocktesting.FakeClock
	issuer *issuer
	held   *Bundle
}

func open(t *testing.T, given *v1alpha1.Credentials) *stage {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC))
	s := &stage{T: t, client: fake.NewClientset(), clock: clock, issuer: &issuer{clock: clock}}
	keeper := NewStore(objectwatch.New(s.client, logr.Discard()), s.issuer, clock)
	s.held = keeper.Open(given, func() {})
	t.Cleanup(s.held.Close)
	return s
}

// sends waits until the authorization and the problem are those.
func (s *stage) sends(authorization, problem string) *engines.Access {
	s.Helper()
	var access *engines.Access
	cluster.Eventually(s, patience, func() error {
		var err error
		access, err = s.held.Access()
		ready, told := s.held.State()
		switch {
		case ready != (err == nil):
			return fmt.Errorf("ready is %v, and the error %v", ready, err)
		case authorization == "" && err == nil || err == nil && access.Authorization != authorization:
			return fmt.Errorf("sends %q, want %q", access.Authorization, authorization)
		case authorization != "" && err != nil:
			return err
		case (told == nil) != (problem == "") || !strings.Contains(errorText(told), problem):
			return fmt.Errorf("problem %v, want %q", told, problem)
		}
		return nil
	})
	return access
}

func (s *stage) store(token string) {
	s.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string][]byte{"token": []byte(token)}}
	api := s.client.CoreV1().Secrets("ns")
	_, err := api.Update(s.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		_, err = api.Create(s.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

var bySecret = &v1alpha1.Authorization{SecretRef: &v1alpha1.SecretKeyReference{ObjectReference: v1alpha1.ObjectReference{Namespace: "ns", Name: "a"}, Key: "token"}}

func TestRotation(t *testing.T) {
	cert, _ := pair(t)
	s := open(t, &v1alpha1.Credentials{Authorization: bySecret, CABundle: &v1alpha1.CABundle{Inline: cert}})
	s.sends("", "Secret ns/a is not there")
	s.store("one")
	first := s.sends("Bearer one", "")
	s.store("two")
	second := s.sends("Bearer two", "")
	if first.TLS != second.TLS {
		t.Error("another token makes another TLS configuration, and so new connections")
	}
	s.store("")
	s.sends("Bearer two", `key "token" is empty`)
	if err := s.client.CoreV1().Secrets("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.sends("Bearer two", "Secret ns/a is not there")
	s.store("three")
	s.sends("Bearer three", "")
}

func TestOnlyTheNamedObjectIsAskedFor(t *testing.T) {
	s := open(t, &v1alpha1.Credentials{Authorization: bySecret})
	s.store("one")
	s.sends("Bearer one", "")
	for _, action := range s.client.Actions() {
		if action.GetVerb() != "list" && action.GetVerb() != "watch" {
			continue
		}
		if action.GetNamespace() != "ns" {
			t.Errorf("%s of %s in namespace %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
		}
	}
}

func TestServiceAccountToken(t *testing.T) {
	s := open(t, &v1alpha1.Credentials{Authorization: &v1alpha1.Authorization{ServiceAccountToken: &v1alpha1.ServiceAccountToken{Audience: "a"}}})
	s.sends("Bearer token-1", "")
	s.passes(47 * time.Minute)
	s.sends("Bearer token-1", "")
	s.passes(time.Minute + time.Second)
	s.sends("Bearer token-2", "")
	s.issuer.fail(errBoom)
	s.passes(49 * time.Minute)
	s.sends("Bearer token-2", "authorization.serviceAccountToken: boom")
	s.issuer.fail(nil)
	s.passes(2 * time.Second)
	s.sends("Bearer token-3", "")
}

// passes moves the clock once somebody waits for it.
func (s *stage) passes(d time.Duration) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		if !s.clock.HasWaiters() {
			return errors.New("nobody waits for the clock")
		}
		return nil
	})
	s.clock.Step(d)
}

func TestNoToken(t *testing.T) {
	s := &stage{T: t}
	clock := clocktesting.NewFakeClock(time.Now())
	s.clock, s.issuer = clock, &issuer{clock: clock, err: errBoom}
	s.held = NewStore(objectwatch.New(fake.NewClientset(), logr.Discard()), s.issuer, clock).Open(
		&v1alpha1.Credentials{Authorization: &v1alpha1.Authorization{ServiceAccountToken: &v1alpha1.ServiceAccountToken{Audience: "a"}}}, func() {})
	defer s.held.Close()
	s.sends("", "authorization.serviceAccountToken: boom")
	var failure *engines.Error
	if _, err := s.held.Access(); !errors.As(err, &failure) || !errors.Is(err, errBoom) {
		t.Errorf("error %v, want an *engines.Error with its cause", err)
	}
}
