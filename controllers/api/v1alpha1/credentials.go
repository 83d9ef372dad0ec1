package v1alpha1

import "time"

// Credentials are how a webhook's server is known and how the host makes itself known to it.
// +kubebuilder:validation:XValidation:rule="!(has(self.authorization) && has(self.basicAuth))",message="give at most one of authorization and basicAuth: both fill the same header"
type Credentials struct {
	// CABundle holds the certificates by which the server's own is checked.
	// Absent means those of the system.
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
	// ClientTLS is the certificate that the host shows to the server.
	// +optional
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`
	// Authorization sends a token.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`
	// BasicAuth sends a user name and a password.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// Empty says that none of the four is given.
func (c *Credentials) Empty() bool {
	return c.CABundle == nil && c.ClientTLS == nil && c.Authorization == nil && c.BasicAuth == nil
}

// EndpointConfig gives credentials to every webhook of the definition on one host that
// has none of its own.
type EndpointConfig struct {
	// Host is compared, without regard to case, with the host of a webhook's
	// URL. Without a port it stands for the scheme's default port.
	// +kubebuilder:validation:MaxLength=261
	// +kubebuilder:validation:XValidation:rule="self.size() > 0 && !self.contains('/')",message="write the host, or host:port, of the webhook's address, such as hooks.example.com or hooks.example.com:8443"
	Host        string `json:"host"`
	Credentials `json:",inline"`
}

// CABundle is where PEM-encoded certificates are found.
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

// ObjectReference names a namespaced object whose kind is plain from the field.
type ObjectReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
}

// CAReference is a key of a Secret or ConfigMap that holds certificates.
type CAReference struct {
	ObjectReference `json:",inline"`
	// Key that holds them. Absent means ca.crt.
	// +optional
	Key string `json:"key,omitempty"`
}

// DataKey is the key, ca.crt unless another is given.
func (r *CAReference) DataKey() string { return orDefault(r.Key, "ca.crt") }

// ClientTLS is a certificate and its private key, both PEM-encoded.
type ClientTLS struct {
	// SecretRef is the Secret that holds both, commonly of type kubernetes.io/tls.
	SecretRef ObjectReference `json:"secretRef"`
	// CertKey is the key of the certificate. Absent means tls.crt.
	// +optional
	CertKey string `json:"certKey,omitempty"`
	// PrivateKeyKey is the key of the private key. Absent means tls.key.
	// +optional
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// DataKeys are the keys of the certificate and of the private key.
func (c *ClientTLS) DataKeys() (cert, privateKey string) {
	return orDefault(c.CertKey, "tls.crt"), orDefault(c.PrivateKeyKey, "tls.key")
}

// Authorization is the header of that name: the type, a space and a token.
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.serviceAccountToken)",message="give exactly one of secretRef and serviceAccountToken"
type Authorization struct {
	// Type is the scheme. Absent means Bearer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'basic'",message="for basic authentication use basicAuth, which takes user name and password"
	Type string `json:"type,omitempty"`
	// SecretRef is the key of a Secret that holds what follows the type. Space
	// around it is cut off.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
	// ServiceAccountToken sends a token of a ServiceAccount, made for this server
	// alone and renewed before it expires. The host has to have the right to create
	// serviceaccounts/token for that account.
	// +optional
	ServiceAccountToken *ServiceAccountToken `json:"serviceAccountToken,omitempty"`
}

// ServiceAccountToken is a token by which a server can tell, with a TokenReview or by the
// cluster's OpenID keys, that a call comes from a ServiceAccount and is meant for it.
type ServiceAccountToken struct {
	// ServiceAccountRef is the account that the token is of.
	ServiceAccountRef ObjectReference `json:"serviceAccountRef"`
	// Audience is who the token is for; the server has to check that it is itself.
	// One that the API server takes for its own is refused: whoever is called could
	// do with such a token what the account may do.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Audience string `json:"audience"`
	// ExpirationSeconds is how long a token is good for: 600, ten minutes, or more.
	// Absent means 3600. It is renewed when a fifth of its time is left.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 600 && self <= 86400",message="must be from 600 (ten minutes) to 86400 (a day)"
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`
}

// Lifetime is how long a token is asked to be good for, an hour unless another time is given.
func (t *ServiceAccountToken) Lifetime() time.Duration {
	if t.ExpirationSeconds == nil {
		return time.Hour
	}
	return time.Duration(*t.ExpirationSeconds) * time.Second
}

// Scheme is the type, Bearer unless another is given.
func (a *Authorization) Scheme() string { return orDefault(a.Type, "Bearer") }

// SecretKeyReference is one key of a Secret.
type SecretKeyReference struct {
	ObjectReference `json:",inline"`
	// Key of the Secret.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// BasicAuth is a user name and a password. Space around either is cut off, and the name
// can't hold a colon.
type BasicAuth struct {
	// SecretRef is the Secret that holds both.
	SecretRef ObjectReference `json:"secretRef"`
	// UsernameKey is the key of the user name. Absent means username.
	// +optional
	UsernameKey string `json:"usernameKey,omitempty"`
	// PasswordKey is the key of the password. Absent means password.
	// +optional
	PasswordKey string `json:"passwordKey,omitempty"`
}

// DataKeys are the keys of the user name and of the password.
func (b *BasicAuth) DataKeys() (username, password string) {
	return orDefault(b.UsernameKey, "username"), orDefault(b.PasswordKey, "password")
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
