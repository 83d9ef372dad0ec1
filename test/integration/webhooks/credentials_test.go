package webhooks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/test/env"
)

func plain(*httptest.Server) {}

// showing lets those in who show a certificate.
func showing(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} }

// only lets requests through that are authorized in one way.
func only(authorized func(*http.Request) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		wanting("yes")(w, r)
	}
}

func bearer(token string) http.HandlerFunc {
	return only(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+token })
}

// TestCredentials shows every form of credentials, of the webhook and by host.
func TestCredentials(t *testing.T) {
	e := env.NewRunning(t)
	cert, key := clientCertificate(t, "libretto")
	applySecret(e, "token", map[string]string{"token": " right\n"})
	applySecret(e, "wrong", map[string]string{"token": "wrong"})
	applySecret(e, "login", map[string]string{"username": "me", "password": "open"})
	applySecret(e, "client", map[string]string{"tls.crt": cert, "tls.key": key})
	ref := func(name string) string { return fmt.Sprintf("{namespace: %s, name: %s}", e.Namespace, name) }
	keyed := func(name, key string) string {
		return fmt.Sprintf("{namespace: %s, name: %s, key: %s}", e.Namespace, name, key)
	}
	login := only(func(r *http.Request) bool {
		name, password, ok := r.BasicAuth()
		return ok && name == "me" && password == "open"
	})
	cases := map[string]credentialsCase{
		"inline":    {edit: plain, answer: wanting("yes"), given: "caBundle: {inline: AUTHORITY}"},
		"secret-ca": {edit: plain, answer: wanting("yes"), given: "caBundle: {secretRef: " + ref("ca-secret-ca") + "}"},
		"configmap": {edit: plain, answer: wanting("yes"), given: "caBundle: {configMapRef: " + keyed("ca-configmap", "bundle") + "}"},
		"no-ca": {edit: plain, answer: wanting("yes"), given: "authorization: {secretRef: " + keyed("token", "token") + "}",
			refused: "in caBundle"},
		"bearer": {edit: plain, answer: bearer("right"),
			given: "caBundle: {inline: AUTHORITY}, authorization: {secretRef: " + keyed("token", "token") + "}"},
		"wrong-token": {edit: plain, answer: bearer("right"), given: "caBundle: {inline: AUTHORITY}, authorization: {secretRef: " + keyed("wrong", "token") + "}", refused: "answered 401 Unauthorized: who are you?"},
		"basic":       {edit: plain, answer: login, given: "caBundle: {inline: AUTHORITY}, basicAuth: {secretRef: " + ref("login") + "}"},
		"client": {edit: showing, answer: wanting("yes"),
			given: "caBundle: {inline: AUTHORITY}, clientTLS: {secretRef: " + ref("client") + "}"},
		"no-client": {edit: showing, answer: wanting("yes"), given: "caBundle: {inline: AUTHORITY}",
			refused: "give the right one in clientTLS"},
		"without-tls": {answer: bearer("right"), given: "authorization: {secretRef: " + keyed("token", "token") + "}"},
	}
	for name, c := range cases {
		for _, where := range []string{"webhook", "host"} {
			t.Run(name+"-"+where, func(t *testing.T) {
				t.Parallel()
				c.run(e.WithT(t), name, where)
			})
		}
	}
}

// credentialsCase is a server, and the credentials for it.
type credentialsCase struct {
	edit   func(*httptest.Server)
	answer http.HandlerFunc
	// given are the credentials. AUTHORITY stands for the server's certificate.
	given string
	// refused is a part of the event's message, and empty if the call succeeds.
	refused string
}

// run calls a server with credentials given in the webhook, or by host.
func (c credentialsCase) run(e *env.Env, name, where string) {
	server := serve(e.T, c.edit)
	server.says(c.answer)
	authority := "x"
	if c.edit != nil {
		authority = server.authority()
	}
	switch name {
	case "secret-ca":
		applySecret(e, "ca-secret-ca", map[string]string{"ca.crt": authority})
	case "configmap":
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: ca-configmap}, data: {bundle: %s}}", env.Quote(authority)))
	}
	given := strings.ReplaceAll(c.given, "AUTHORITY", env.Quote(authority))
	hook, more := fmt.Sprintf("{webhook: {url: %q, %s}}", server.URL, given), ""
	if where == "host" {
		host := strings.SplitN(server.URL, "//", 2)[1]
		hook = webhook(server.URL + "/sync")
		more = fmt.Sprintf("endpointConfigs: [{host: other.example.com, caBundle: {inline: x}}, {host: %q, %s}]", host, given)
	}
	set := name + "-" + where
	define(e, set, hook, more)
	applyThing(e, set, set)
	if c.refused == "" {
		waitForValue(e, set, "yes")
		return
	}
	e.WaitForEvent(set, "SyncError", "HookFailed: sync hook: "+server.URL, c.refused)
	if e.Get(env.ConfigMaps, set) != nil {
		e.T.Error("there is a child, though no server answered")
	}
}

// clientCertificate makes a certificate in a name and its key, in PEM.
func clientCertificate(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	env.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	env.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	env.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
}

// TestMissingSecret shows that a definition waits for its credentials, says so, and
// goes on with what was good last when they are gone.
func TestMissingSecret(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(bearer("right"))
	name := define(e, "late", fmt.Sprintf("{webhook: {url: %q, authorization: {secretRef: {namespace: %s, name: late, key: token}}}}",
		server.URL, e.Namespace), "")
	applyThing(e, "late", "late")
	e.WaitForCondition(name, "Accepted", "True")
	e.WaitForCondition(name, "Ready", "False", "CredentialsNotReady",
		"spec.hooks.sync.webhook.authorization: Secret "+e.Namespace+"/late is not there: create it")
	e.WaitForEvent(name, "CredentialsNotReady", "is not there")
	if n := server.called(); n != 0 {
		t.Errorf("called %d times without the token", n)
	}
	applySecret(e, "late", map[string]string{"token": "right"})
	waitForValue(e, "late", "yes")
	e.WaitForCondition(name, "Ready", "True", "Running")
	e.Delete(env.Secrets, e.Namespace, "late")
	e.WaitForCondition(name, "Ready", "True", "CredentialsNotReady", "what was good last", "is not there")
	applyThing(e, "late", "another")
	waitForValue(e, "another", "yes")
	// What failed for want of the right token is called again when there is one.
	server.says(bearer("newer"))
	e.Patch(e.Things(), "late", `{"spec": {"changed": true}}`)
	e.WaitForEvent("late", "SyncError", "answered 401")
	server.says(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer newer" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		wanting("mended")(w, r)
	})
	applySecret(e, "late", map[string]string{"token": "newer"})
	waitForValue(e, "late", "mended")
	e.WaitForCondition(name, "Ready", "True", "Running")
}

// TestServiceAccountToken shows that a server can tell who calls, and that the API
// server can't be called with what it is sent.
func TestServiceAccountToken(t *testing.T) {
	e := env.NewRunning(t)
	clientset := kubernetes.NewForConfigOrDie(e.Cluster.Config)
	review := func(token string) *authenticationv1.TokenReview {
		r, err := clientset.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{"https://hooks.example.com"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("token review: %v", err)
			return &authenticationv1.TokenReview{}
		}
		return r
	}
	server := serve(t, nil)
	server.says(only(func(r *http.Request) bool {
		status := review(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")).Status
		return status.Authenticated && status.User.Username == "system:serviceaccount:"+e.Namespace+":caller"
	}))
	e.Apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: caller}}")
	hook := func(account, audience string) string {
		return fmt.Sprintf("{webhook: {url: %q, authorization: {serviceAccountToken: {serviceAccountRef: {namespace: %s, name: %s}, audience: %q}}}}", server.URL, e.Namespace, account, audience)
	}
	define(e, "account", hook("caller", "https://hooks.example.com"), "")
	applyThing(e, "account", "account")
	waitForValue(e, "account", "yes")

	own := define(e, "own", hook("caller", audienceOfTheAPIServer(t, e, clientset)), "")
	e.WaitForCondition(own, "Ready", "False", "CredentialsNotReady", "spec.hooks.sync.webhook.authorization.serviceAccountToken: audience: ",
		"is the API server's own")
	nobody := define(e, "nobody", hook("nobody", "https://hooks.example.com"), "")
	e.WaitForCondition(nobody, "Ready", "False", "CredentialsNotReady", "ServiceAccount "+e.Namespace+"/nobody is not there: create it")
}

// audienceOfTheAPIServer is what a token without an audience of its own is for.
func audienceOfTheAPIServer(t *testing.T, e *env.Env, clientset kubernetes.Interface) string {
	t.Helper()
	request, err := clientset.CoreV1().ServiceAccounts(e.Namespace).CreateToken(t.Context(), "caller", &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	env.NoError(t, err)
	return request.Spec.Audiences[0]
}
