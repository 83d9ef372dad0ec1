package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/shared/single"
)

// errPending means that the API server has not answered yet.
var errPending = errors.New("not read yet")

// material is what credentials come to at one moment, as text.
type material struct {
	trust         trust
	authorization string
}

// trust is the part of it that a TLS configuration is made of, all in PEM.
type trust struct{ authorities, certificate, key string }

// sources are where credentials are read from.
type sources struct {
	read  func(single.Name) single.Reading
	token func() (string, error) // of the ServiceAccount
}

// names are the objects that credentials are in.
func names(c *v1alpha1.Credentials) []single.Name {
	var all []single.Name
	secret := func(r v1alpha1.ObjectReference) { all = append(all, named(single.Secret, r)) }
	if c.CABundle != nil && c.CABundle.SecretRef != nil {
		secret(c.CABundle.SecretRef.ObjectReference)
	}
	if c.CABundle != nil && c.CABundle.ConfigMapRef != nil {
		all = append(all, named(single.ConfigMap, c.CABundle.ConfigMapRef.ObjectReference))
	}
	if c.ClientTLS != nil {
		secret(c.ClientTLS.SecretRef)
	}
	if c.Authorization != nil && c.Authorization.SecretRef != nil {
		secret(c.Authorization.SecretRef.ObjectReference)
	}
	if c.BasicAuth != nil {
		secret(c.BasicAuth.SecretRef)
	}
	slices.SortFunc(all, func(a, b single.Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

func named(kind single.Kind, r v1alpha1.ObjectReference) single.Name {
	return single.Name{Kind: kind, Namespace: r.Namespace, Name: r.Name}
}

// assemble makes the material of credentials. It is pure but for its sources. An
// error is errPending, or says which field is wrong and what to do about it.
func assemble(c *v1alpha1.Credentials, from sources) (material, error) {
	var m material
	var errs []error
	part := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	var err error
	if c.CABundle != nil {
		m.trust.authorities, err = authorities(c.CABundle, from)
		part("caBundle", err)
	}
	if c.ClientTLS != nil {
		m.trust.certificate, m.trust.key, err = certificate(c.ClientTLS, from)
		part("clientTLS", err)
	}
	if c.Authorization != nil {
		m.authorization, err = token(c.Authorization, from)
		if c.Authorization.ServiceAccountToken == nil { // What keeps its token says where itself.
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
		text, err = from.value(named(single.Secret, c.SecretRef.ObjectReference), c.SecretRef.DataKey())
	case c.ConfigMapRef != nil:
		text, err = from.value(named(single.ConfigMap, c.ConfigMapRef.ObjectReference), c.ConfigMapRef.DataKey())
	}
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		return "", errors.New("holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
	}
	return text, err
}

func certificate(c *v1alpha1.ClientTLS, from sources) (cert, key string, err error) {
	secret := named(single.Secret, c.SecretRef)
	certKey, keyKey := c.DataKeys()
	cert, err = from.value(secret, certKey)
	if err != nil {
		return "", "", err
	}
	if key, err = from.value(secret, keyKey); err != nil {
		return "", "", err
	}
	if _, err := tls.X509KeyPair([]byte(cert), []byte(key)); err != nil {
		return "", "", fmt.Errorf("%s: %s and %s are no certificate with its key: %w", secret, certKey, keyKey, err)
	}
	return cert, key, nil
}

func token(a *v1alpha1.Authorization, from sources) (string, error) {
	var value string
	var err error
	switch {
	case a.ServiceAccountToken != nil:
		value, err = from.token()
	case a.SecretRef != nil:
		value, err = from.word(named(single.Secret, a.SecretRef.ObjectReference), a.SecretRef.Key)
	default:
		err = errors.New("give secretRef or serviceAccountToken")
	}
	return a.Scheme() + " " + value, err
}

func basic(b *v1alpha1.BasicAuth, from sources) (string, error) {
	secret := named(single.Secret, b.SecretRef)
	nameKey, passwordKey := b.DataKeys()
	name, err := from.word(secret, nameKey)
	if err != nil {
		return "", err
	}
	password, err := from.word(secret, passwordKey)
	if err != nil {
		return "", err
	}
	if strings.Contains(name, ":") {
		return "", fmt.Errorf("%s: the user name in key %q has a colon, which ends user names", secret, nameKey)
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password)), nil
}

// word gives the value of a key without the space around it, as part of a header.
func (s sources) word(name single.Name, key string) (string, error) {
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

// value gives the value of a key, which is not empty.
func (s sources) value(name single.Name, key string) (string, error) {
	r := s.read(name)
	switch {
	case r.Refusal != nil && r.Data == nil:
		return "", fmt.Errorf("%s: give the host the rights to get, list and watch it: %w", name, r.Refusal)
	case !r.Answered:
		return "", errPending
	case r.Data == nil:
		return "", fmt.Errorf("%s is not there: create it, or correct the reference", name)
	}
	value, ok := r.Data[key]
	switch {
	case !ok && len(r.Data) == 0:
		return "", fmt.Errorf("%s has no key %q: it is empty", name, key)
	case !ok:
		return "", fmt.Errorf("%s has no key %q: it has %s", name, key, strings.Join(slices.Sorted(maps.Keys(r.Data)), ", "))
	case value == "":
		return "", fmt.Errorf("%s: key %q is empty", name, key)
	}
	return value, nil
}

// config makes the TLS configuration, or nil if nothing is given.
func (t trust) config() *tls.Config {
	if t == (trust{}) {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.authorities != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(t.authorities))
	}
	if t.certificate != "" {
		// It was checked when the material was made.
		pair, _ := tls.X509KeyPair([]byte(t.certificate), []byte(t.key))
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}
