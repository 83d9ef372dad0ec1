package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

const (
	// minRetry is the first delay before a failed token request is retried. It doubles each time, up to
	// maxRetry.
	minRetry, maxRetry = time.Second, time.Minute
	// issueTimeout bounds one token request.
	issueTimeout = 10 * time.Second
)

// Issuer issues ServiceAccount tokens.
type Issuer interface {
	// Issue returns a token and its expiry.
	Issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (token string, expires time.Time, err error)
}

// renewTokens requests tokens until ctx ends: a new one when a fifth of the last one's lifetime is left.
func (b *Bundle) renewTokens(ctx context.Context, t *v1alpha1.ServiceAccountToken) {
	for pause := minRetry; ; {
		token, expires, err := b.issue(ctx, t)
		if ctx.Err() != nil {
			return
		}
		b.mu.Lock()
		if b.tokenErr = err; err == nil {
			b.token = token
		}
		b.mu.Unlock()
		b.refresh()
		wait := max(expires.Sub(b.store.clock.Now())*4/5, minRetry)
		if err != nil {
			wait, pause = pause, min(2*pause, maxRetry)
		} else {
			pause = minRetry
		}
		select {
		case <-b.store.clock.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

func (b *Bundle) issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, issueTimeout)
	defer cancel()
	token, expires, err := b.store.issuer.Issue(ctx, t)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("authorization.serviceAccountToken: %w", err)
	}
	return token, expires, nil
}

// TokenRequests issues tokens by TokenRequest.
type TokenRequests struct {
	client objectwatch.Client
	// accepts reports whether the API server accepts a token.
	accepts func(ctx context.Context, token string) (bool, error)
}

// NewTokenRequests returns an Issuer that uses client. config is how to connect to the API server; its
// credentials are not used.
func NewTokenRequests(client objectwatch.Client, config *rest.Config) *TokenRequests {
	return &TokenRequests{client: client, accepts: func(ctx context.Context, token string) (bool, error) {
		return accepts(ctx, config, token)
	}}
}

// Issue returns a token. It refuses one that the API server accepts: an author of a definition could
// have it sent anywhere, and act as the ServiceAccount.
func (r *TokenRequests) Issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	if t.Audience == "" {
		return "", time.Time{}, errors.New("audience: is required")
	}
	ref, seconds := t.ServiceAccountRef, int64(t.Lifetime()/time.Second)
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{t.Audience}, ExpirationSeconds: &seconds},
	}
	issued, err := r.client.CoreV1().ServiceAccounts(ref.Namespace).CreateToken(ctx, ref.Name, request, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", time.Time{}, fmt.Errorf("ServiceAccount %s/%s: give the host the right to create serviceaccounts/token: %w",
			ref.Namespace, ref.Name, err)
	case apierrors.IsNotFound(err):
		return "", time.Time{}, fmt.Errorf("ServiceAccount %s/%s is not there: create it, or correct serviceAccountRef", ref.Namespace, ref.Name)
	case err != nil:
		return "", time.Time{}, fmt.Errorf("ServiceAccount %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	accepted, err := r.accepts(ctx, issued.Status.Token)
	switch {
	case err != nil:
		return "", time.Time{}, fmt.Errorf("asking whether the API server takes a token for %q: %w", t.Audience, err)
	case accepted:
		return "", time.Time{}, fmt.Errorf("audience: %q is the API server's own: whoever is called could use the token there: name the webhook's server", t.Audience)
	}
	return issued.Status.Token, issued.Status.ExpirationTimestamp.Time, nil
}

// accepts sends a SelfSubjectReview with the token.
func accepts(ctx context.Context, config *rest.Config, token string) (bool, error) {
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = token
	client, err := authenticationv1client.NewForConfig(as)
	if err != nil {
		return false, err
	}
	_, err = client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return true, nil // A forbidden user is authenticated.
	case errors.As(err, &status) && status.Status().Code == http.StatusUnauthorized:
		return false, nil
	default:
		return false, err
	}
}
