package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// apiServer answers what an Impersonator asks, and notes as whom the other requests come.
type apiServer struct {
	verbs map[string]bool // of the host on serviceaccounts
	code  int             // of a token request
	minor string          // of the API server's version
	clock *clocktesting.FakePassiveClock
	asked int
	as    []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/version":
		s.asked++
		_ = json.NewEncoder(w).Encode(version.Info{GitVersion: "v1." + s.minor + ".2+k3s1"})
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		s.asked++
		var review authorizationv1.SelfSubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status.Allowed = s.verbs[review.Spec.ResourceAttributes.Verb] && review.Spec.ResourceAttributes.Name == "robot"
		_ = json.NewEncoder(w).Encode(review)
	case strings.HasSuffix(r.URL.Path, "/token") && s.code != http.StatusCreated:
		s.asked++
		w.WriteHeader(s.code)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Code: int32(s.code), Reason: reasons[s.code]})
	case strings.HasSuffix(r.URL.Path, "/token"):
		s.asked++
		_ = json.NewEncoder(w).Encode(authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: "of-" + strings.Split(r.URL.Path, "/")[6], ExpirationTimestamp: metav1.NewTime(s.clock.Now().Add(time.Hour)),
		}})
	default:
		s.as = append(s.as, r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User"))
		_ = json.NewEncoder(w).Encode(metav1.Status{})
	}
}

var reasons = map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}

// newImpersonated returns a client that makes requests as the account of their context, for a host with the token "host".
func newImpersonated(t *testing.T, s *apiServer, change ...func(*rest.Config)) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.clock = clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	config := &rest.Config{Host: server.URL, BearerToken: "host", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(config)
	}
	config, err = NewImpersonator(host, s.clock).Wrap(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestImpersonator makes requests as accounts, by each right that a host may have.
func TestImpersonator(t *testing.T) {
	const byUser, byToken = "Bearer host system:serviceaccount:a:robot", "Bearer of-robot "
	constrained := map[string]bool{"impersonate:serviceaccount": true}
	for name, tc := range map[string]struct {
		verbs map[string]bool
		minor string
		code  int
		as    string
		err   string
		// asked is how many questions two requests, and one after six minutes, cost.
		asked int
	}{
		"constrained":     {verbs: constrained, minor: "36", as: byUser, asked: 4},
		"not constrained": {verbs: map[string]bool{"impersonate": true}, as: byUser, asked: 4},
		"both, older":     {verbs: map[string]bool{"impersonate:serviceaccount": true, "impersonate": true}, minor: "35", as: byUser, asked: 6},
		"token, older":    {verbs: constrained, minor: "35", code: http.StatusCreated, as: byToken, asked: 4},
		"token":           {code: http.StatusCreated, as: byToken, asked: 3},
		"neither":         {code: http.StatusForbidden, err: "): libretto rbac -f FILES --host prints what the host needs", asked: 6},
		"no such account": {code: http.StatusNotFound, err: "ServiceAccount a/robot is not there", asked: 6},
		"broken":          {code: http.StatusTeapot, err: "ServiceAccount a/robot: no token", asked: 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServer{verbs: tc.verbs, minor: tc.minor, code: tc.code}
			client := newImpersonated(t, s)
			ctx := identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "robot"})
			for n := range 3 {
				if n == 2 {
					s.clock.SetTime(s.clock.Now().Add(6 * time.Minute))
				}
				_, err := client.CoreV1().Pods("a").Get(ctx, "p", metav1.GetOptions{})
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
			}
			if s.asked != tc.asked {
				t.Errorf("%d questions, want %d", s.asked, tc.asked)
			}
			for _, as := range s.as {
				if as != tc.as {
					t.Errorf("a request came as %q, want %q", as, tc.as)
				}
			}
			if want := map[bool]int{true: 3}[tc.err == ""]; len(s.as) != want {
				t.Errorf("%d requests, want %d", len(s.as), want)
			}
		})
	}
}

// TestRefused checks that a request that can't be made as an account fails as the API server would refuse it: no URL is quoted, and what it
// is about is not taken for missing.
func TestRefused(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		s := &apiServer{code: code}
		client, ctx := newImpersonated(t, s), identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "robot"})
		_, got := client.CoreV1().Pods("a").Get(ctx, "p", metav1.GetOptions{})
		_, watched := client.CoreV1().Pods("a").Watch(ctx, metav1.ListOptions{})
		deleted := client.CoreV1().Pods("a").Delete(ctx, "p", metav1.DeleteOptions{})
		for _, err := range []error{got, watched, deleted} {
			if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "http") || !strings.HasPrefix(err.Error(), "ServiceAccount a/robot") {
				t.Errorf("%d: %v", code, err)
			}
		}
		if len(s.as) > 0 {
			t.Errorf("%d: requests came as %q", code, s.as)
		}
	}
}

// TestTokenIsRenewed asks for another token when a fifth of the lifetime is left.
func TestTokenIsRenewed(t *testing.T) {
	s := &apiServer{code: http.StatusCreated}
	client, ctx := newImpersonated(t, s), identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "robot"})
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 3}, {47 * time.Minute, 3}, {2 * time.Minute, 6}} {
		s.clock.SetTime(s.clock.Now().Add(step.after))
		if _, err := client.CoreV1().Pods("a").Get(ctx, "p", metav1.GetOptions{}); err != nil || s.asked != step.asked {
			t.Errorf("after %v: error %v and %d questions, want %d", step.after, err, s.asked, step.asked)
		}
	}
}

// TestHostAccount sends what the host does for itself with its own credentials, and nothing that names no account.
func TestHostAccount(t *testing.T) {
	s := &apiServer{verbs: map[string]bool{"impersonate": true}}
	client := newImpersonated(t, s)
	if _, err := client.CoreV1().Pods("a").Get(identity.WithAccount(t.Context(), identity.Account{}), "p", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if len(s.as) != 1 || s.as[0] != "Bearer host " {
		t.Errorf("it came as %q", s.as)
	}
	if _, err := client.CoreV1().Pods("a").Get(t.Context(), "p", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), "no account is named") || len(s.as) != 1 {
		t.Errorf("without an account: %v, %q", err, s.as)
	}
}

// TestImpersonatedHost has a host that is impersonated itself use tokens: the rights to impersonate are those of another user.
func TestImpersonatedHost(t *testing.T) {
	s := &apiServer{verbs: map[string]bool{"impersonate": true}, code: http.StatusCreated}
	client := newImpersonated(t, s, func(c *rest.Config) { c.Impersonate.UserName = "somebody" })
	if _, err := client.CoreV1().Pods("a").Get(identity.WithAccount(t.Context(), identity.Account{Namespace: "a", Name: "robot"}), "p", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(s.as) != 1 || s.as[0] != "Bearer of-robot " {
		t.Errorf("it came as %q", s.as)
	}
}
