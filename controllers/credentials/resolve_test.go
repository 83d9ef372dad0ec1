package credentials

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

var errBoom = errors.New("boom")

// keyPair returns a certificate and its key, in PEM.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER)
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// TestErrorsTellNothing checks that errors, which end up in a status, tell nothing that a Secret or
// ConfigMap holds, nor which keys it has, but for those that the definition names.
func TestErrorsTellNothing(t *testing.T) {
	const canary = "canary"
	cert, key := keyPair(t)
	ref := v1alpha1.NamespacedReference{Namespace: "ns", Name: "a"}
	secret := &v1alpha1.SecretKeyReference{NamespacedReference: ref, Key: "token"}
	given := map[string]v1alpha1.Credentials{
		"CA in a Secret":    {CABundle: &v1alpha1.CABundle{SecretRef: &v1alpha1.CAReference{NamespacedReference: ref}}},
		"CA in a ConfigMap": {CABundle: &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.CAReference{NamespacedReference: ref}}},
		"client":            {ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}},
		"token":             {Authorization: &v1alpha1.Authorization{SecretRef: secret}},
		"basic":             {BasicAuth: &v1alpha1.BasicAuth{SecretRef: ref}},
	}
	cases := map[string]struct {
		reason string
		data   map[string]string
	}{
		"other keys":   {"no key is listed", map[string]string{canary: "x"}},
		"no PEM":       {"what is not PEM is not quoted", map[string]string{"ca.crt": canary, "tls.crt": canary, "tls.key": canary, "token": canary + "\n" + canary, "username": canary + ":", "password": "x"}},
		"other PEM":    {"Go's error lists the types of blocks", map[string]string{"tls.crt": encode("canary", []byte("x")), "tls.key": encode("canary", []byte("x"))}},
		"PEM, no key":  {"Go's error lists the types of blocks", map[string]string{"tls.crt": cert, "tls.key": encode("canary", []byte("x"))}},
		"header":       {"a value that no header may have", map[string]string{"username": "x", "password": canary + "\r\n" + canary, "token": "\x00" + canary}},
		"not its cert": {"the key of another", map[string]string{"tls.crt": encode("CERTIFICATE", []byte(canary)), "tls.key": key}},
	}
	for name, c := range cases {
		for field, credentials := range given {
			t.Run(name+", "+field, func(t *testing.T) {
				t.Log(c.reason)
				_, err := resolve(&credentials, sources{read: func(objectwatch.Name) objectwatch.Snapshot {
					return objectwatch.Snapshot{Synced: true, Data: c.data}
				}})
				if err != nil && strings.Contains(err.Error(), canary) {
					t.Errorf("the error tells what is in the object: %v", err)
				}
			})
		}
	}
}

func TestResolve(t *testing.T) {
	cert, key := keyPair(t)
	other, _ := keyPair(t)
	ref := v1alpha1.NamespacedReference{Namespace: "ns", Name: "a"}
	authorization := &v1alpha1.Authorization{SecretRef: &v1alpha1.SecretKeyReference{NamespacedReference: ref, Key: "token"}}
	account := &v1alpha1.Authorization{ServiceAccountToken: &v1alpha1.ServiceAccountToken{Audience: "a"}}
	cases := map[string]struct {
		reason string
		given  v1alpha1.Credentials
		data   map[string]string     // Of Secret ns/a, which does not exist if nil.
		read   *objectwatch.Snapshot // Replaces data.
		want   resolved
		err    string
	}{
		"inline CA":        {reason: "the text itself", given: v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{Inline: cert}}, want: resolved{tls: tlsPEM{roots: cert}}},
		"CA":               {reason: "ca.crt unless another key is given", given: v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{SecretRef: &v1alpha1.CAReference{NamespacedReference: ref}}}, data: map[string]string{"ca.crt": cert}, want: resolved{tls: tlsPEM{roots: cert}}},
		"CA by key":        {reason: "from a ConfigMap", given: v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.CAReference{NamespacedReference: ref, Key: "k"}}}, data: map[string]string{"k": cert}, want: resolved{tls: tlsPEM{roots: cert}}},
		"no CA":            {reason: "without PEM no server would be trusted", given: v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{Inline: "x"}}, err: "caBundle: holds no certificate in PEM"},
		"client":           {reason: "the keys of kubernetes.io/tls", given: v1alpha1.Credentials{ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}}, data: map[string]string{"tls.crt": cert, "tls.key": key}, want: resolved{tls: tlsPEM{certificate: cert, key: key}}},
		"client, half":     {reason: "certificate and key do not match", given: v1alpha1.Credentials{ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}}, data: map[string]string{"tls.crt": other, "tls.key": key}, err: "clientTLS: Secret ns/a: tls.crt and tls.key are no certificate with its key"},
		"client, no key":   {reason: "the message has the missing key, and none that is there", given: v1alpha1.Credentials{ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}}, data: map[string]string{"tls.crt": cert, "key.pem": key}, err: `has no key "tls.key": add it, or correct the reference`},
		"client, no PEM":   {reason: "which half is not", given: v1alpha1.Credentials{ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}}, data: map[string]string{"tls.crt": key, "tls.key": key}, err: `clientTLS: Secret ns/a: key "tls.crt" holds no certificate in PEM`},
		"client, two CAs":  {reason: "which half is not", given: v1alpha1.Credentials{ClientTLS: &v1alpha1.ClientTLS{SecretRef: ref}}, data: map[string]string{"tls.crt": cert, "tls.key": cert}, err: `clientTLS: Secret ns/a: key "tls.key" holds no private key in PEM`},
		"token":            {reason: "white space is trimmed", given: v1alpha1.Credentials{Authorization: authorization}, data: map[string]string{"token": " abc\n"}, want: resolved{authorization: "Bearer abc"}},
		"token of a type":  {reason: "another scheme", given: v1alpha1.Credentials{Authorization: &v1alpha1.Authorization{Type: "Token", SecretRef: authorization.SecretRef}}, data: map[string]string{"token": "abc"}, want: resolved{authorization: "Token abc"}},
		"empty token":      {reason: "an empty token would be sent", given: v1alpha1.Credentials{Authorization: authorization}, data: map[string]string{"token": ""}, err: `authorization: Secret ns/a: key "token" is empty`},
		"blank token":      {reason: "white space counts as empty", given: v1alpha1.Credentials{Authorization: authorization}, data: map[string]string{"token": " \n"}, err: `key "token" is empty`},
		"two lines":        {reason: "headers can't have line breaks", given: v1alpha1.Credentials{Authorization: authorization}, data: map[string]string{"token": "a\nb"}, err: "control character"},
		"basic":            {reason: "RFC 7617", given: v1alpha1.Credentials{BasicAuth: &v1alpha1.BasicAuth{SecretRef: ref}}, data: map[string]string{"username": "Aladdin ", "password": "open sesame\n"}, want: resolved{authorization: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}},
		"colon":            {reason: "it would end the user name", given: v1alpha1.Credentials{BasicAuth: &v1alpha1.BasicAuth{SecretRef: ref}}, data: map[string]string{"username": "a:b", "password": "c"}, err: "has a colon"},
		"no password":      {reason: "both are needed", given: v1alpha1.Credentials{BasicAuth: &v1alpha1.BasicAuth{SecretRef: ref}}, data: map[string]string{"username": "a"}, err: `basicAuth: Secret ns/a has no key "password": add it`},
		"empty Secret":     {reason: "which is not reported", given: v1alpha1.Credentials{Authorization: authorization}, data: map[string]string{}, err: `Secret ns/a has no key "token": add it`},
		"no Secret":        {reason: "the message has the remedy", given: v1alpha1.Credentials{Authorization: authorization}, err: "Secret ns/a is not there: create it"},
		"not answered":     {reason: "which is not an error of the user", given: v1alpha1.Credentials{Authorization: authorization}, read: &objectwatch.Snapshot{}, err: errPending.Error()},
		"refused":          {reason: "access denied", given: v1alpha1.Credentials{Authorization: authorization}, read: &objectwatch.Snapshot{AccessErr: errBoom}, err: "give the host the rights to get, list and watch it: boom"},
		"refused later":    {reason: "data read before is still used", given: v1alpha1.Credentials{Authorization: authorization}, read: &objectwatch.Snapshot{Synced: true, Data: map[string]string{"token": "abc"}, AccessErr: errBoom}, want: resolved{authorization: "Bearer abc"}},
		"account":          {reason: "its token", given: v1alpha1.Credentials{Authorization: account}, want: resolved{authorization: "Bearer of-account"}},
		"two things wrong": {reason: "all errors are reported at once", given: v1alpha1.Credentials{CABundle: &v1alpha1.CABundle{Inline: "x"}, Authorization: authorization}, err: "PEM, which begins with -----BEGIN CERTIFICATE-----\nauthorization: Secret ns/a is not there"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, err := resolve(&c.given, sources{
				token: func() (string, error) { return "of-account", nil },
				read: func(name objectwatch.Name) objectwatch.Snapshot {
					if c.read != nil {
						return *c.read
					}
					return objectwatch.Snapshot{Synced: true, Data: c.data}
				},
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one that says %q", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(resolved{}, tlsPEM{})); diff != "" || err != nil {
				t.Errorf("error %v, material (-want +got):\n%s", err, diff)
			}
		})
	}
}
