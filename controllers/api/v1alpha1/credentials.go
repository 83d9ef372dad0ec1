package v1alpha1

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

// Authorization is the header of that name: the type, a space and the secret.
type Authorization struct {
	// Type is the scheme. Absent means Bearer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'basic'",message="for basic authentication use basicAuth, which takes user name and password"
	Type string `json:"type,omitempty"`
	// SecretRef is the key of a Secret that holds what follows the type. Space
	// around it is cut off.
	SecretRef SecretKeyReference `json:"secretRef"`
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
