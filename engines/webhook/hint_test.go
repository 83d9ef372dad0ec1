package webhook

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// TestHungUp checks what is said of a server that hangs up while it is written to: over TLS that may be
// all that is seen of its asking for a certificate.
func TestHungUp(t *testing.T) {
	const hint = "give the right one in clientTLS"
	cases := map[string]struct {
		url   string
		cause error
		want  bool
	}{
		"written to, by https": {"https://hooks/sync", &net.OpError{Op: "write", Err: syscall.EPIPE}, true},
		"read from, by https":  {"https://hooks/sync", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"by http":              {"http://hooks/sync", &net.OpError{Op: "write", Err: syscall.EPIPE}, false},
		"another reason":       {"https://hooks/sync", errors.New("something else"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			failure := unreachable(&url.Error{Op: "Post", URL: tc.url, Err: tc.cause})
			if got := strings.Contains(failure.Message, hint); got != tc.want {
				t.Errorf("message %q: has %q: %v, want %v", failure.Message, hint, got, tc.want)
			}
		})
	}
}

// TestMessages has the messages in docs/design/messages.md that are about servers.
func TestMessages(t *testing.T) {
	cases := map[string]struct {
		reason string
		cause  error
		want   string
	}{
		"refused":    {"nothing listens", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused: is the server running, and is the port right?"},
		"plain HTTP": {"Go has two messages for it", errors.New("tls: first record does not look like a TLS handshake"), "TLS handshake: write http:// in url, or protocol: http in service"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			failure := unreachable(&url.Error{Op: "Post", URL: "https://hooks/sync", Err: c.cause})
			if !strings.HasSuffix(failure.Message, c.want) {
				t.Errorf("message %q, want one that ends in %q", failure.Message, c.want)
			}
		})
	}
}
