package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// The two users, both with every right. They differ so that the audit log can tell the control plane's own requests
// from everybody else's.
const (
	adminUser     = "admin"
	componentUser = "controlplane"
)

// credentials are the secrets of one run and the files they lie in.
type credentials struct {
	caPEM     []byte
	caFile    string
	keyFile   string // serves TLS and signs service account tokens
	tokenFile string
	tokens    map[string]string // user to token
}

// makeCredentials returns the secrets that an earlier run left, as its clients have them, or makes new ones and writes those that Kubernetes
// wants to read from files.
func makeCredentials(dir string) (*credentials, error) {
	c := &credentials{
		caFile:    filepath.Join(dir, "ca.crt"),
		keyFile:   filepath.Join(dir, "server.key"),
		tokenFile: filepath.Join(dir, "tokens.csv"),
		tokens:    map[string]string{adminUser: rand.Text(), componentUser: rand.Text()},
	}
	if err := c.read(); !errors.Is(err, os.ErrNotExist) {
		return c, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("server key: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("server key: %w", err)
	}
	certificate, err := selfSigned(key)
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}
	c.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	files := []struct {
		path    string
		content []byte
	}{ // What read looks at comes last.
		{c.keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})},
		{c.caFile, c.caPEM},
		{c.tokenFile, []byte(c.tokenList())},
	}
	for _, file := range files {
		if err := os.WriteFile(file.path, file.content, 0o600); err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
	}
	return c, nil
}

// read takes the secrets from the files. The error is os.ErrNotExist if there are none.
func (c *credentials) read() error {
	list, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Split(line, ","); len(fields) > 1 {
			c.tokens[fields[1]] = fields[0]
		}
	}
	if c.caPEM, err = os.ReadFile(c.caFile); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}

// selfSigned makes the API server's certificate, which is at the same time the authority its clients trust. An
// elliptic key takes a millisecond to make, where the API server's own way would spend a tenth of a second on RSA.
func selfSigned(key *ecdsa.PrivateKey) ([]byte, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "controlplane"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

// tokenList is the API server's list of static tokens: token, name, id, groups.
func (c *credentials) tokenList() string {
	list := ""
	for user, token := range c.tokens {
		list += fmt.Sprintf("%s,%s,%s,\"system:masters\"\n", token, user, user)
	}
	return list
}

// restConfig is how the control plane's own parts reach the API server.
func (c *credentials) restConfig(server string) *rest.Config {
	return &rest.Config{
		Host:            server,
		BearerToken:     c.tokens[componentUser],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.caPEM},
		QPS:             -1,
	}
}
