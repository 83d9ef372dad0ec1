package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

// errPending means that the API server has not answered yet.
var errPending = errors.New("not read yet")

// resolved holds the values of credentials at one moment. It is comparable.
type resolved struct {
	tls           tlsPEM
	authorization string
}

// tlsPEM holds the parts of a TLS configuration, in PEM.
type tlsPEM struct{ roots, certificate, key string }

// sources are the readers of objects and tokens.
type sources struct {
	read  func(objectwatch.Name) objectwatch.Snapshot
	token func() (string, error) // Of the ServiceAccount.
}

// objectNames returns the objects that credentials refer to, sorted and without duplicates.
func objectNames(c *v1alpha1.Credentials) []objectwatch.Name {
	var all []objectwatch.Name
	secret := func(r v1alpha1.NamespacedReference) { all = append(all, objectName(objectwatch.Secret, r)) }
	if c.CABundle != nil && c.CABundle.SecretRef != nil {
		secret(c.CABundle.SecretRef.NamespacedReference)
	}
	if c.CABundle != nil && c.CABundle.ConfigMapRef != nil {
		all = append(all, objectName(objectwatch.ConfigMap, c.CABundle.ConfigMapRef.NamespacedReference))
	}
	if c.ClientTLS != nil {
		secret(c.ClientTLS.SecretRef)
	}
	if c.Authorization != nil && c.Authorization.SecretRef != nil {
		secret(c.Authorization.SecretRef.NamespacedReference)
	}
	if c.BasicAuth != nil {
		secret(c.BasicAuth.SecretRef)
	}
	slices.SortFunc(all, func(a, b objectwatch.Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

func objectName(kind objectwatch.Kind, r v1alpha1.NamespacedReference) objectwatch.Name {
	return objectwatch.Name{Kind: kind, Namespace: r.Namespace, Name: r.Name}
}

// resolve returns the values of credentials. It is pure except for its sources. The error is errPending,
// or names the field that is wrong and the remedy.
func resolve(c *v1alpha1.Credentials, from sources) (resolved, error) {
	var m resolved
	var errs []error
	part := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	var err error
	if c.CABundle != nil {
		m.tls.roots, err = authorities(c.CABundle, from)
		part("caBundle", err)
	}
	if c.ClientTLS != nil {
		m.tls.certificate, m.tls.key, err = certificate(c.ClientTLS, from)
		part("clientTLS", err)
	}
	if c.Authorization != nil {
		m.authorization, err = token(c.Authorization, from)
		if c.Authorization.ServiceAccountToken == nil { // Errors of its tokens have the path already.
			part("authorization", err)
		} else {
			errs = append(errs, err)
		}
	}
	if c.BasicAuth != nil {
		m.authorization, err = basic(c.BasicAuth, from)
		part("basicAuth", err)
	}
	return m, errors.Join(errs...)
}

func authorities(c *v1alpha1.CABundle, from sources) (string, error) {
	text, err := c.Inline, error(nil)
	switch {
	case c.SecretRef != nil:
		text, err = from.value(objectName(objectwatch.Secret, c.SecretRef.NamespacedReference), c.SecretRef.DataKey())
	case c.ConfigMapRef != nil:
		text, err = from.value(objectName(objectwatch.ConfigMap, c.ConfigMapRef.NamespacedReference), c.ConfigMapRef.DataKey())
	}
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		return "", errors.New("holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
	}
	return text, err
}

func certificate(c *v1alpha1.ClientTLS, from sources) (cert, key string, err error) {
	secret := objectName(objectwatch.Secret, c.SecretRef)
	certKey, keyKey := c.DataKeys()
	cert, err = from.value(secret, certKey)
	if err != nil {
		return "", "", err
	}
	if key, err = from.value(secret, keyKey); err != nil {
		return "", "", err
	}
	switch _, err := tls.X509KeyPair([]byte(cert), []byte(key)); {
	case err == nil:
		return cert, key, nil
	case !hasBlock(cert, "CERTIFICATE"):
		return "", "", fmt.Errorf("%s: key %q holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----", secret, certKey)
	case !hasBlock(key, "PRIVATE KEY"):
		return "", "", fmt.Errorf("%s: key %q holds no private key in PEM, such as -----BEGIN PRIVATE KEY-----", secret, keyKey)
	default: // The error itself may quote what the Secret holds.
		return "", "", fmt.Errorf("%s: %s and %s are no certificate with its key: write both of one pair", secret, certKey, keyKey)
	}
}

// hasBlock reports whether text has a PEM block of a type that ends like this.
func hasBlock(text, kind string) bool {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, kind) {
			return true
		}
	}
	return false
}

func token(a *v1alpha1.Authorization, from sources) (string, error) {
	var value string
	var err error
	switch {
	case a.ServiceAccountToken != nil:
		value, err = from.token()
	case a.SecretRef != nil:
		value, err = from.headerValue(objectName(objectwatch.Secret, a.SecretRef.NamespacedReference), a.SecretRef.Key)
	default:
		err = errors.New("give secretRef or serviceAccountToken")
	}
	return a.Scheme() + " " + value, err
}

func basic(b *v1alpha1.BasicAuth, from sources) (string, error) {
	secret := objectName(objectwatch.Secret, b.SecretRef)
	nameKey, passwordKey := b.DataKeys()
	name, err := from.headerValue(secret, nameKey)
	if err != nil {
		return "", err
	}
	password, err := from.headerValue(secret, passwordKey)
	if err != nil {
		return "", err
	}
	if strings.Contains(name, ":") {
		return "", fmt.Errorf("%s: the user name in key %q has a colon, which ends user names", secret, nameKey)
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password)), nil
}

// headerValue returns the value of a key, trimmed, for use in a header.
func (s sources) headerValue(name objectwatch.Name, key string) (string, error) {
	value, err := s.value(name, key)
	if err != nil {
		return "", err
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", fmt.Errorf("%s: key %q is empty", name, key)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", fmt.Errorf("%s: key %q has a line break or another control character, which no header may have", name, key)
	}
	return value, nil
}

// value returns the value of a key. It is never empty without an error. The error is for a status
// that users may read who may not read the object: it tells nothing else of what the object holds.
func (s sources) value(name objectwatch.Name, key string) (string, error) {
	r := s.read(name)
	switch {
	case r.AccessErr != nil && r.Data == nil:
		return "", fmt.Errorf("%s: give the host the rights to get, list and watch it: %w", name, r.AccessErr)
	case !r.Synced:
		return "", errPending
	case r.Data == nil:
		return "", fmt.Errorf("%s is not there: create it, or correct the reference", name)
	}
	value, ok := r.Data[key]
	switch {
	case !ok:
		return "", fmt.Errorf("%s has no key %q: add it, or correct the reference", name, key)
	case value == "":
		return "", fmt.Errorf("%s: key %q is empty", name, key)
	}
	return value, nil
}

// config returns the TLS configuration, or nil if there is nothing to configure.
func (t tlsPEM) config() *tls.Config {
	if t == (tlsPEM{}) {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.roots != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(t.roots))
	}
	if t.certificate != "" {
		// resolve has checked the pair.
		pair, _ := tls.X509KeyPair([]byte(t.certificate), []byte(t.key))
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}
