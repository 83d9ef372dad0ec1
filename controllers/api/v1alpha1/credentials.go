package v1alpha1

import "time"

// Credentials are for TLS with a webhook's server and for authentication to it.
// +kubebuilder:validation:XValidation:rule="!(has(self.authorization) && has(self.basicAuth))",message="give at most one of authorization and basicAuth: both fill the same header"
type Credentials struct {
	// CABundle holds the certificates that the server's own is verified with.
	// Defaults to those of the system.
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
	// ClientTLS is the host's own certificate for the server.
	// +optional
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`
	// Authorization sends a token.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`
	// BasicAuth sends a user name and a password.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// Empty reports whether none of the four is given.
func (c *Credentials) Empty() bool {
	return c.CABundle == nil && c.ClientTLS == nil && c.Authorization == nil && c.BasicAuth == nil
}

// EndpointConfig sets the credentials of all webhooks on one host that have none of their
// own.
type EndpointConfig struct {
	// Host is the host of a webhook's URL, in any case. Without a port it matches
	// the default port of the scheme.
	// +kubebuilder:validation:MaxLength=261
	// +kubebuilder:validation:XValidation:rule="self.size() > 0 && !self.contains('/')",message="write the host, or host:port, of the webhook's address, such as hooks.example.com or hooks.example.com:8443"
	Host        string `json:"host"`
	Credentials `json:",inline"`
}

// CABundle selects the source of PEM-encoded certificates.
// +kubebuilder:validation:XValidation:rule="[has(self.inline) && self.inline.size() > 0, has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give exactly one of inline, secretRef and configMapRef"
type CABundle struct {
	// Inline is the PEM text itself.
	// +optional
	Inline string `json:"inline,omitempty"`
	// SecretRef is a key of a Secret that holds the text.
	// +optional
	SecretRef *CAReference `json:"secretRef,omitempty"`
	// ConfigMapRef is a key of a ConfigMap that holds the text.
	// +optional
	ConfigMapRef *CAReference `json:"configMapRef,omitempty"`
}

// NamespacedReference names a namespaced object. The field determines its kind.
type NamespacedReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
}

// CAReference is a key of a Secret or ConfigMap that holds certificates.
type CAReference struct {
	NamespacedReference `json:",inline"`
	// Key that holds them. Defaults to ca.crt.
	// +optional
	Key string `json:"key,omitempty"`
}

// DataKey returns the key, ca.crt by default.
func (r *CAReference) DataKey() string { return orDefault(r.Key, "ca.crt") }

// ClientTLS is a certificate and its private key, both PEM-encoded.
type ClientTLS struct {
	// SecretRef is the Secret that holds both, commonly of type kubernetes.io/tls.
	SecretRef NamespacedReference `json:"secretRef"`
	// CertKey is the key of the certificate. Defaults to tls.crt.
	// +optional
	CertKey string `json:"certKey,omitempty"`
	// PrivateKeyKey is the key of the private key. Defaults to tls.key.
	// +optional
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// DataKeys returns the keys of the certificate and of the private key.
func (c *ClientTLS) DataKeys() (cert, privateKey string) {
	return orDefault(c.CertKey, "tls.crt"), orDefault(c.PrivateKeyKey, "tls.key")
}

// Authorization is the header with that name: the type, a space and a token.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.serviceAccountToken)",message="give exactly one of secretRef and serviceAccountToken"
type Authorization struct {
	// Type is the scheme. Defaults to Bearer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'basic'",message="for basic authentication use basicAuth, which takes user name and password"
	Type string `json:"type,omitempty"`
	// SecretRef is the key of a Secret that holds the token. Surrounding space is
	// removed.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
	// ServiceAccountToken sends a token of a ServiceAccount, which is only for this
	// server and renewed before it expires. The host needs permission to create
	// serviceaccounts/token for that account.
	// +optional
	ServiceAccountToken *ServiceAccountToken `json:"serviceAccountToken,omitempty"`
}

// ServiceAccountToken is a token of a ServiceAccount for one audience. The server can verify
// both, with a TokenReview or by the cluster's OpenID keys.
type ServiceAccountToken struct {
	// ServiceAccountRef is the account of the token.
	ServiceAccountRef NamespacedReference `json:"serviceAccountRef"`
	// Audience is the server that the token is for. The server must verify it. An
	// audience of the API server itself is refused: the called server could use such a
	// token with all permissions of the account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Audience string `json:"audience"`
	// ExpirationSeconds is the lifetime of a token, at least 600 (ten minutes).
	// Defaults to 3600. A token is renewed when a fifth of its lifetime is left.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 600 && self <= 86400",message="must be from 600 (ten minutes) to 86400 (a day)"
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`
}

// Lifetime returns the requested lifetime of a token, an hour by default.
func (t *ServiceAccountToken) Lifetime() time.Duration {
	if t.ExpirationSeconds == nil {
		return time.Hour
	}
	return time.Duration(*t.ExpirationSeconds) * time.Second
}

// Scheme returns the type, Bearer by default.
func (a *Authorization) Scheme() string { return orDefault(a.Type, "Bearer") }

// SecretKeyReference is one key of a Secret.
type SecretKeyReference struct {
	NamespacedReference `json:",inline"`
	// Key of the Secret.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// BasicAuth is a user name and a password. Surrounding space is removed. The name can't
// contain a colon.
type BasicAuth struct {
	// SecretRef is the Secret that holds both.
	SecretRef NamespacedReference `json:"secretRef"`
	// UsernameKey is the key of the user name. Defaults to username.
	// +optional
	UsernameKey string `json:"usernameKey,omitempty"`
	// PasswordKey is the key of the password. Defaults to password.
	// +optional
	PasswordKey string `json:"passwordKey,omitempty"`
}

// DataKeys returns the keys of the user name and of the password.
func (b *BasicAuth) DataKeys() (username, password string) {
	return orDefault(b.UsernameKey, "username"), orDefault(b.PasswordKey, "password")
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
