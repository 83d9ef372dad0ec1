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
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/test/cluster"
)

const patience = 10 * time.Second

// fakeIssuer issues numbered tokens, or fails.
type fakeIssuer struct {
	clock *clocktesting.FakeClock
	mu    sync.Mutex
	made  int
	err   error
}

func (i *fakeIssuer) Issue(context.Context, *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return "", time.Time{}, i.err
	}
	i.made++
	return fmt.Sprint("token-", i.made), i.clock.Now().Add(time.Hour), nil
}

func (i *fakeIssuer) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = err
}

// env is a bundle on a fake cluster.
type env struct {
	*testing.T
	client *fake.Clientset
	clock  *clocktesting.FakeClock
	issuer *fakeIssuer
	bundle *Bundle
}

func open(t *testing.T, given *v1alpha1.Credentials) *env {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC))
	e := &env{T: t, client: fake.NewClientset(), clock: clock, issuer: &fakeIssuer{clock: clock}}
	bundles := NewStore(objectwatch.New(e.client, logr.Discard()), e.issuer, clock)
	e.bundle = bundles.Open(given, identity.Account{}, func() {})
	t.Cleanup(e.bundle.Close)
	return e
}

// waitFor waits until the bundle has this authorization and this problem.
func (e *env) waitFor(authorization, problem string) *engines.Access {
	e.Helper()
	var access *engines.Access
	cluster.Eventually(e, patience, func() error {
		var err error
		access, err = e.bundle.Access()
		ready, invalid := e.bundle.State()
		switch {
		case ready != (err == nil):
			return fmt.Errorf("ready is %v, and the error %v", ready, err)
		case authorization == "" && err == nil || err == nil && access.Authorization != authorization:
			return fmt.Errorf("sends %q, want %q", access.Authorization, authorization)
		case authorization != "" && err != nil:
			return err
		case (invalid == nil) != (problem == "") || !strings.Contains(fmt.Sprint(invalid), problem):
			return fmt.Errorf("problem %v, want %q", invalid, problem)
		}
		return nil
	})
	return access
}

func (e *env) store(token string) {
	e.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string][]byte{"token": []byte(token)}}
	api := e.client.CoreV1().Secrets("ns")
	_, err := api.Update(e.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		_, err = api.Create(e.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		e.Fatal(err)
	}
}

var bySecret = &v1alpha1.Authorization{SecretRef: &v1alpha1.SecretKeyReference{NamespacedReference: v1alpha1.NamespacedReference{Namespace: "ns", Name: "a"}, Key: "token"}}

func TestRotation(t *testing.T) {
	cert, _ := keyPair(t)
	e := open(t, &v1alpha1.Credentials{Authorization: bySecret, CABundle: &v1alpha1.CABundle{Inline: cert}})
	e.waitFor("", "Secret ns/a is not there")
	e.store("one")
	first := e.waitFor("Bearer one", "")
	e.store("two")
	second := e.waitFor("Bearer two", "")
	if first.TLS != second.TLS {
		t.Error("another token makes another TLS configuration, and so new connections")
	}
	e.store("")
	e.waitFor("Bearer two", `key "token" is empty`)
	if err := e.client.CoreV1().Secrets("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.waitFor("Bearer two", "Secret ns/a is not there")
	e.store("three")
	e.waitFor("Bearer three", "")
}

func TestWatchesOnlyNamedObject(t *testing.T) {
	e := open(t, &v1alpha1.Credentials{Authorization: bySecret})
	e.store("one")
	e.waitFor("Bearer one", "")
	for _, action := range e.client.Actions() {
		if action.GetVerb() != "list" && action.GetVerb() != "watch" {
			continue
		}
		if action.GetNamespace() != "ns" {
			t.Errorf("%s of %s in namespace %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
		}
	}
}

func TestServiceAccountToken(t *testing.T) {
	e := open(t, &v1alpha1.Credentials{Authorization: &v1alpha1.Authorization{ServiceAccountToken: &v1alpha1.ServiceAccountToken{Audience: "a"}}})
	e.waitFor("Bearer token-1", "")
	e.step(47 * time.Minute)
	e.waitFor("Bearer token-1", "")
	e.step(time.Minute + time.Second)
	e.waitFor("Bearer token-2", "")
	e.issuer.fail(errBoom)
	e.step(49 * time.Minute)
	e.waitFor("Bearer token-2", "authorization.serviceAccountToken: boom")
	e.issuer.fail(nil)
	e.step(2 * time.Second)
	e.waitFor("Bearer token-3", "")
}

// step advances the clock once a timer is set.
func (e *env) step(d time.Duration) {
	e.Helper()
	cluster.Eventually(e, patience, func() error {
		if !e.clock.HasWaiters() {
			return errors.New("no timer is set")
		}
		return nil
	})
	e.clock.Step(d)
}

func TestNoToken(t *testing.T) {
	e := &env{T: t}
	clock := clocktesting.NewFakeClock(time.Now())
	e.clock, e.issuer = clock, &fakeIssuer{clock: clock, err: errBoom}
	e.bundle = NewStore(objectwatch.New(fake.NewClientset(), logr.Discard()), e.issuer, clock).Open(
		&v1alpha1.Credentials{Authorization: &v1alpha1.Authorization{ServiceAccountToken: &v1alpha1.ServiceAccountToken{Audience: "a"}}}, identity.Account{}, func() {})
	defer e.bundle.Close()
	e.waitFor("", "authorization.serviceAccountToken: boom")
	var failure *engines.Error
	if _, err := e.bundle.Access(); !errors.As(err, &failure) || !errors.Is(err, errBoom) {
		t.Errorf("error %v, want an *engines.Error with its cause", err)
	}
}
