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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

const (
	// retryAtFirst is how long it takes until a token that could not be had is asked
	// for again. It doubles each time, up to retryAtMost.
	retryAtFirst, retryAtMost = time.Second, time.Minute
	// issueTimeout bounds one request for a token.
	issueTimeout = 10 * time.Second
)

// Issuer makes tokens of ServiceAccounts.
type Issuer interface {
	// Issue gives a token and when it expires.
	Issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (token string, expires time.Time, err error)
}

// keepToken has tokens made until ctx ends, each when a fifth of the time of the
// one before is left.
func (h *Held) keepToken(ctx context.Context, t *v1alpha1.ServiceAccountToken) {
	for pause := retryAtFirst; ; {
		token, expires, err := h.issue(ctx, t)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		if h.refused = err; err == nil {
			h.token = token
		}
		h.mu.Unlock()
		h.renew()
		wait := max(expires.Sub(h.keeper.clock.Now())*4/5, retryAtFirst)
		if err != nil {
			wait, pause = pause, min(2*pause, retryAtMost)
		} else {
			pause = retryAtFirst
		}
		select {
		case <-h.keeper.clock.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

func (h *Held) issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, issueTimeout)
	defer cancel()
	token, expires, err := h.keeper.issuer.Issue(ctx, t)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("authorization.serviceAccountToken: %w", err)
	}
	return token, expires, nil
}

// TokenRequests has the API server make tokens.
type TokenRequests struct {
	client kubernetes.Interface
	// accepts says whether the API server takes a token for its own.
	accepts func(ctx context.Context, token string) (bool, error)
}

// NewTokenRequests asks by client. config is how the server is reached, of which
// the credentials are not used.
func NewTokenRequests(client kubernetes.Interface, config *rest.Config) *TokenRequests {
	return &TokenRequests{client: client, accepts: func(ctx context.Context, token string) (bool, error) { return accepts(ctx, config, token) }}
}

// Issue gives a token, unless it is one that opens the API server: who may write
// a definition could have it sent anywhere, and be what the account is.
func (r *TokenRequests) Issue(ctx context.Context, t *v1alpha1.ServiceAccountToken) (string, time.Time, error) {
	if t.Audience == "" {
		return "", time.Time{}, errors.New("audience: is required")
	}
	ref, seconds := t.ServiceAccountRef, int64(t.Lifetime()/time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{t.Audience}, ExpirationSeconds: &seconds}}
	issued, err := r.client.CoreV1().ServiceAccounts(ref.Namespace).CreateToken(ctx, ref.Name, request, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", time.Time{}, fmt.Errorf("ServiceAccount %s/%s: give the host the right to create serviceaccounts/token: %w", ref.Namespace, ref.Name, err)
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

// accepts asks the API server, in the name of the token, who that is.
func accepts(ctx context.Context, config *rest.Config, token string) (bool, error) {
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = token
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		return false, err
	}
	_, err = client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return true, nil // Who is forbidden something is known.
	case errors.As(err, &status) && status.Status().Code == http.StatusUnauthorized:
		return false, nil
	default:
		return false, err
	}
}
