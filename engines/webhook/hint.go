package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// hint returns what to do about a failure to reach a server by http or https, or "" if that is unknown.
func hint(scheme string, err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var alert tls.AlertError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return ": give the certificate of its authority in caBundle, of the webhook or in endpointConfigs"
	case errors.As(err, &name):
		return ": call it by a name that its certificate has, or give it another certificate"
	case errors.As(err, &alert), strings.Contains(err.Error(), "remote error: tls: "),
		strings.Contains(err.Error(), "client conn could not be established"),
		scheme == "https" && isReset(err):
		// A server that requires a certificate reports its absence after the handshake and closes
		// the connection. A client that is still writing may see only that.
		return ": if the server asks for a client certificate, give the right one in clientTLS"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return ": does the Service exist, and is its namespace right?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": is the server running, and is the port right?"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"),
		strings.Contains(err.Error(), "first record does not look like a TLS handshake"):
		return ": write http:// in url, or protocol: http in service"
	default:
		return ""
	}
}

// statusHint returns what to do about a status that is no answer, or "".
func statusHint(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ": see authorization, basicAuth and clientTLS of the webhook, or endpointConfigs"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return ": does the path lead to the hook?"
	case http.StatusNotModified, http.StatusPreconditionFailed:
		return ": it was not sent If-None-Match, and has to answer 200"
	default:
		return ""
	}
}
