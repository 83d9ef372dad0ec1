package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Client has the clients by which an Impersonator asks for rights and tokens, as a kubernetes.Interface has them.
type Client interface {
	Discovery() discovery.DiscoveryInterface
	AuthorizationV1() authorizationv1client.AuthorizationV1Interface
	CoreV1() corev1client.CoreV1Interface
}

// Impersonator makes the requests of one client as many accounts: each as that of its context. It impersonates an account if the API server
// allows the host that, so that audit logs name both, and otherwise sends a token of the account. There is one transport for all.
type Impersonator struct {
	host  Client
	clock clock.PassiveClock

	// byToken is set if the host itself is impersonated by what its kubeconfig names: the rights to impersonate are not its own then.
	byToken bool

	mu       sync.Mutex
	accounts map[identity.Account]*authentication
}

// authentication is how requests are made as an account. The lock is held while the API server is asked.
type authentication struct {
	mu sync.Mutex
	// token is empty if the account is impersonated.
	token string
	// err is why requests can't be made as the account.
	err error
	// until is when it is asked for again.
	until time.Time
}

const (
	// modeTTL is for how long it is known that the host may impersonate an account, and refusedTTL that it may neither that nor have a token.
	modeTTL, refusedTTL = 5 * time.Minute, 5 * time.Second
	// tokenLifetime is what is asked for. A token is replaced when a fifth of what the API server gives is left.
	tokenLifetime = time.Hour
	// authenticationTimeout bounds what is asked before a request.
	authenticationTimeout = 10 * time.Second
	// maxAccounts is how many accounts are known before those that have expired are dropped.
	maxAccounts = 1000
)

// NewImpersonator returns an Impersonator. host is a client of the host's own account.
func NewImpersonator(host Client, clock clock.PassiveClock) *Impersonator {
	return &Impersonator{host: host, clock: clock, accounts: map[identity.Account]*authentication{}}
}

// Wrap returns a copy of config for clients whose requests are made as the account of their context. A request without one is refused: no
// path reaches the API server by the rights of the host because it forgot to say whose it is.
func (i *Impersonator) Wrap(config *rest.Config) (*rest.Config, error) {
	// A client certificate would count more than a token.
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	i.byToken = config.Impersonate.UserName != ""
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(func(base http.RoundTripper) http.RoundTripper { return roundTripper{i, base, anonymous} })
	return wrapped, nil
}

// roundTripper sends the requests of Wrap: those of the host, and those that impersonate, by base, and those with a token by anonymous.
type roundTripper struct {
	*Impersonator
	base, anonymous http.RoundTripper
}

// WrappedRoundTripper returns what http.Transport there is below, for those who look for it.
func (t roundTripper) WrappedRoundTripper() http.RoundTripper { return t.base }

// RoundTrip sends a request as the account of its context.
func (t roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	account, ok := identity.AccountOf(request.Context())
	if !ok {
		return nil, fmt.Errorf("%s %s: no account is named for the request", request.Method, request.URL.Path)
	}
	if account.IsHost() {
		return t.base.RoundTrip(request)
	}
	token, err := t.authenticate(request.Context(), account)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return refused(request, err)
	}
	request = request.Clone(request.Context())
	if token == "" {
		request.Header.Set(transport.ImpersonateUserHeader, account.UserName())
		return t.base.RoundTrip(request)
	}
	maps.DeleteFunc(request.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Impersonate-") })
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := t.anonymous.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		t.forget(account) // It may have been made again.
	}
	return response, err
}

// refused returns the answer to a request that can't be made as its account. What lasts is said as the API server refuses requests: clients
// add no URL to that, and nobody takes what the request is about for missing because the account is.
func refused(request *http.Request, err error) (*http.Response, error) {
	if !isLasting(err) {
		return nil, err
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: err.Error(),
	})
	return &http.Response{
		Request: request, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Status: "403 Forbidden", StatusCode: http.StatusForbidden,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, err
}

func (i *Impersonator) forget(account identity.Account) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.accounts, account)
}

// authenticate returns a token of an account, or none if it is to be impersonated.
func (i *Impersonator) authenticate(ctx context.Context, account identity.Account) (token string, err error) {
	a := i.of(account)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := i.clock.Now()
	if now.Before(a.until) {
		return a.token, a.err
	}
	ctx, cancel := context.WithTimeout(ctx, authenticationTimeout)
	defer cancel()
	a.token, a.err = "", nil
	impersonates, err := i.mayImpersonate(ctx, account)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: whether the host may impersonate it is unknown: %w", account, err)
	case impersonates:
		a.until = now.Add(modeTTL)
	default:
		var expires time.Time
		a.token, expires, err = i.issue(ctx, account)
		if err != nil && !isLasting(err) {
			return "", err
		}
		if a.err = err; err != nil {
			expires = now.Add(refusedTTL * 5 / 4)
		}
		a.until = now.Add(expires.Sub(now) * 4 / 5)
	}
	return a.token, a.err
}

// of returns what is known of an account.
func (i *Impersonator) of(account identity.Account) *authentication {
	i.mu.Lock()
	defer i.mu.Unlock()
	a := i.accounts[account]
	if a == nil {
		if len(i.accounts) >= maxAccounts {
			i.accounts = map[identity.Account]*authentication{} // Each is asked for again, once in many minutes.
		}
		a = &authentication{}
		i.accounts[account] = a
	}
	return a
}

// constrainedSince is the version of the first API server that knows constrained impersonation (KEP-5284) by default.
var constrainedSince = version.MustParseGeneric("1.36")

// mayImpersonate reports whether the host may impersonate an account, by either of the two rights that there are for it.
func (i *Impersonator) mayImpersonate(ctx context.Context, account identity.Account) (bool, error) {
	if i.byToken {
		return false, nil
	}
	constrained, err := i.has(ctx, "authentication.k8s.io", "impersonate:serviceaccount", account)
	if err != nil {
		return false, err
	}
	if constrained {
		// An older API server grants the right as any other, and then refuses all requests that it is for.
		info, err := i.host.Discovery().ServerVersion()
		if err != nil {
			return false, err
		}
		if served, err := version.ParseGeneric(info.GitVersion); err != nil || served.AtLeast(constrainedSince) {
			return true, nil
		}
	}
	return i.has(ctx, "", "impersonate", account)
}

// has reports whether the host has a right on an account.
func (i *Impersonator) has(ctx context.Context, group, verb string, account identity.Account) (bool, error) {
	right := &authorizationv1.ResourceAttributes{
		Group: group, Verb: verb, Resource: "serviceaccounts", Namespace: account.Namespace, Name: account.Name,
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
	answer, err := i.host.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed, err
}

// issue returns a token of an account for the API server, and when it expires.
func (i *Impersonator) issue(ctx context.Context, account identity.Account) (string, time.Time, error) {
	seconds := int64(tokenLifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	issued, err := i.host.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", time.Time{}, fmt.Errorf("%s: the host may neither impersonate it nor have a token of it (%w): libretto rbac -f FILES --host "+
			"prints what the host needs", account, err)
	case apierrors.IsNotFound(err):
		return "", time.Time{}, fmt.Errorf("%s is not there: create it, or correct spec.serviceAccountRef: %w", account, err)
	case err != nil:
		return "", time.Time{}, fmt.Errorf("%s: no token: %w", account, err)
	}
	return issued.Status.Token, issued.Status.ExpirationTimestamp.Time, nil
}

// isLasting reports whether to ask again would give the same error for a while.
func isLasting(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err))
}
